# Plants in an installation: a server with roles mallory, who may create objects in each database, and bob. Each plant is
# created in a transaction, in which the extension is then installed or updated. Gains are: planted code that runs as
# another role, and any right, member or owner that differs from an installation without the plant.
package Planting;

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(start_planting new_database psql_as try_plants gives_nothing $node);
our $node;

# make test plants random groups at once, and then one at a time those of a group that changed anything. make test-full
# plants each alone. The seed repeats the groups.
my $plants_at_once = $ENV{FULL} ? 1 : 7;

sub start_planting
{
	my ($name) = @_;
	my $seed = $ENV{SHARDID_SEED} || int rand 2**31;
	srand $seed;
	note "SHARDID_SEED=$seed";
	$node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', 'log_statement = none');
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE ROLE bob');
	watch_rights();
	return;
}

# What could be gained, as text: every right of every role, the extension's objects (a function's definition shows what
# its defaults refer to), and what mallory owns that she did not own before.
sub watch_rights
{
	$node->safe_psql('template1', <<'SQL');
CREATE SCHEMA watch;
GRANT USAGE ON SCHEMA watch TO PUBLIC;
CREATE FUNCTION watch.of_mallory() RETURNS text[] LANGUAGE sql SET search_path = pg_catalog AS $$
SELECT coalesce(array_agg(pg_describe_object(classid, objid, objsubid)), '{}')
FROM pg_shdepend WHERE refobjid = 'mallory'::regrole AND deptype = 'o'
$$;
CREATE FUNCTION watch.rights(before text[]) RETURNS SETOF text LANGUAGE sql
SET search_path = pg_catalog SET datestyle = iso SET timezone = utc SET intervalstyle = postgres AS $$
SELECT to_jsonb(r)::text FROM pg_roles r
UNION ALL SELECT 'member ' || to_jsonb(m)::text FROM pg_auth_members m
UNION ALL SELECT 'setting ' || to_jsonb(s)::text FROM pg_db_role_setting s
UNION ALL SELECT concat_ws(' ', 'database', datdba::regrole, datacl) FROM pg_database WHERE datname = current_database()
UNION ALL SELECT concat_ws(' ', 'schema', nspname, nspowner::regrole, nspacl) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'
UNION ALL SELECT concat_ws(' ', 'language', lanname, lanowner::regrole, lanacl) FROM pg_language
UNION ALL SELECT concat_ws(' ', 'parameter', parname, paracl) FROM pg_parameter_acl
UNION ALL SELECT concat_ws(' ', 'extension', extname, extowner::regrole, extnamespace::regnamespace, extconfig::regclass[]) FROM pg_extension
UNION ALL SELECT concat_ws(' ', i.type, i.identity, relowner::regrole, relacl, relpersistence, proowner::regrole, proacl, translate(pg_get_functiondef(p.oid), E'\n', ' '))
FROM pg_depend d CROSS JOIN pg_identify_object(d.classid, d.objid, 0) i
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
UNION ALL SELECT 'owned by mallory: ' || o FROM unnest(watch.of_mallory()) o WHERE o <> ALL (before)
$$;
CREATE FUNCTION watch.digest(before text[]) RETURNS text LANGUAGE sql SET search_path = pg_catalog AS $$
SELECT md5(string_agg(r, E'\n' ORDER BY r)) FROM watch.rights(before) r
$$;
SQL
	return;
}

my $databases = 0;

# mallory has CREATE on the database and on schema public, and owns schema evil.
sub new_database
{
	my $database = 'database_' . ++$databases;
	$node->safe_psql('postgres', "CREATE DATABASE $database; GRANT CREATE ON DATABASE $database TO mallory");
	$node->safe_psql($database, 'GRANT CREATE ON SCHEMA public TO mallory; CREATE SCHEMA evil AUTHORIZATION mallory');
	return $database;
}

sub psql_as
{
	my ($user, $database, $sql) = @_;
	my ($status, $output, $error) = $node->psql($database, $sql, extra_params => [ '-U', $user ], on_error_stop => 0);
	return wantarray ? ($output, $error) : $error;
}

# Each plant in a transaction that is rolled back. The first plant is empty: its rights are the reference.
sub script_of
{
	my ($installer, $installation, @plants) = @_;
	my ($hostile, $own) = $installer eq 'mallory' ? ('', '') : ('SET LOCAL SESSION AUTHORIZATION mallory;', 'RESET SESSION AUTHORIZATION;');
	my $sql = '';
	for my $plant ([ 'nothing', '' ], @plants)
	{
		my ($label, $statements) = @$plant;
		my $result = $label eq 'nothing'
		  ? "SELECT watch.digest(:'before') AS expected \\gset\nSELECT 'expected ' || r FROM watch.rights(:'before') r;"
		  : "SELECT CASE WHEN watch.digest(:'before') = :'expected' THEN 'same' ELSE (SELECT string_agg(r, E'\\n') FROM watch.rights(:'before') r) END;";
		my $first = $label eq 'nothing' ? q(SELECT 'before ' || r FROM watch.rights(:'before') r) : '';
		$sql .= <<"SQL";
\\echo plant: $label
BEGIN;
$hostile
$statements;
SELECT watch.of_mallory() AS before \\gset
\\echo planted: :{?before}
$own
$first;
$installation;
$result
ROLLBACK;
\\unset before
SQL
	}
	return $sql;
}

# The plants that could be created, those with which the installation was refused, and all gains. Rights are only
# expected on the extension and its members.
sub outcome
{
	my ($output, $error) = @_;
	my $its_own = qr/^(extension|function|procedure|sequence|owned by mallory: extension) /;
	my (undef, undef, @results) = split /^plant: (.*)\n/m, $output;
	my $nothing = shift @results;
	my %before = map { $_ => 1 } $nothing =~ /^before (.*)/mg;
	my %expected = map { $_ => 1 } $nothing =~ /^expected (.*)/mg;
	my @gains = map { "by nothing: $_" } grep { !$before{$_} && !/$its_own/ } sort keys %expected;
	push @gains, 'nothing planted: could not be installed' unless %expected;
	push @gains, $error =~ /(planted .* ran as .*)/g;
	my %outcome = (planted => [], not_planted => [], refused => [], unchanged => {}, gains => \@gains);
	while (my ($label, $result) = splice @results, 0, 2)
	{
		my $planted = $result =~ s/^planted: (TRUE|FALSE)(\n|\z)// && $1 eq 'TRUE';
		push @{ $outcome{ $planted ? 'planted' : 'not_planted' } }, $label;
		push @{ $outcome{refused} }, $label if $planted && $result eq '';
		$outcome{unchanged}{$label} = 1 if $planted && $result eq "same\n";
		push @{ $outcome{gains} }, map { "$label: $_" } grep { $_ ne 'same' && !$expected{$_} } split /\n/, $result;
	}
	return \%outcome;
}

# In a new database, after the installer's $preparation.
sub try_plants
{
	my ($installer, $preparation, $installation, @plants) = @_;
	my $database = new_database();
	is(psql_as($installer, $database, $preparation), '', $preparation) if $preparation;
	my $try = sub { return outcome(psql_as($installer, $database, script_of($installer, $installation, @_))) };
	return $try->(@plants) if $plants_at_once == 1;
	my @groups;
	@plants = shuffle @plants;
	push @groups, [ splice @plants, 0, $plants_at_once ] while @plants;
	my $together = $try->(map { [ $_, join '; ', map { $_->[1] } @{ $groups[$_] } ] } 0 .. $#groups);
	my (@unchanged, @others);
	push @{ $together->{unchanged}{$_} ? \@unchanged : \@others }, @{ $groups[$_] } for 0 .. $#groups;
	my $alone = $try->(@others);
	push @{ $alone->{planted} }, map { $_->[0] } @unchanged;
	push @{ $alone->{gains} }, grep { /ran as/ } @{ $together->{gains} };
	return $alone;
}

# $there: the script of the objects that already exist, whose names are taken.
sub gives_nothing
{
	my ($name, $outcome, $there) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @failed = grep { my ($its) = /\.(\w+)/; !$there || $there !~ /CREATE \w+ $its\b/ } @{ $outcome->{not_planted} };
	is("@failed", '', "$name: all could be planted");
	note "refused: $_" for @{ $outcome->{refused} };
	is(join("\n", @{ $outcome->{gains} }), '',
		"$name: nothing gained by " . @{ $outcome->{planted} } . ' plants, of which ' . @{ $outcome->{refused} } . ' were refused');
	return;
}

1;
