# What t/generator/every_call calls: the functions of an extension, relations of every kind and in every state to call
# them with, and each value of each argument type with those of the others, as many as there is time for.
package Calls;

use ShardidTest;
use Exporter 'import';
use List::Util qw(head product shuffle);
use Boundaries;
use Docs;

our @EXPORT = qw(start_server stop_server query functions calls_of unknown_types $node);
our $node;
my (%unknown_types, @relations, $other_session);

sub query { return $node->safe_psql('postgres', $_[0]) }
sub unknown_types { return sort keys %unknown_types }

# Where sequences are before most calls that name them, unless they are restarted: what calls with other layouts leave
# behind is a state too.
my %position = (
	(map { $_ => '1' } qw(generator of_int exact shardid_seq of_few pg_temp.temporary)),
	fresh => '1, false',
	near_its_end => '9223372036854775806',
	at_its_end => '9223372036854775807',
	near_the_end_of_the_layout => '(1::bigint << 51) - 2',
	below_zero => '-5',
	by_ten => '7',
	by_far => '7',
	cycle => '9223372036854775807',
	downwards => '-1');

sub start_server
{
	# Who has no lease need not be waited for.
	$node = new_node('every_call', "shardid_lease.timeout = 100ms\n");
	query(<<'SQL');
CREATE SEQUENCE generator;
CREATE SEQUENCE fresh;
CREATE SEQUENCE near_its_end;
CREATE SEQUENCE at_its_end;
CREATE SEQUENCE near_the_end_of_the_layout;
CREATE SEQUENCE below_zero MINVALUE -9223372036854775808;
CREATE SEQUENCE of_int AS int;
CREATE SEQUENCE exact MAXVALUE 2251799813685247;
CREATE SEQUENCE by_ten INCREMENT 10 CACHE 100;
CREATE SEQUENCE by_far INCREMENT 9223372036854775807;
CREATE SEQUENCE cycle CYCLE;
CREATE SEQUENCE downwards INCREMENT -1;
CREATE UNLOGGED SEQUENCE unlogged;
CREATE TABLE plain (id int PRIMARY KEY, t text);
ALTER SEQUENCE by_ten OWNED BY plain.id;
CREATE TABLE parted (id int) PARTITION BY RANGE (id);
CREATE TABLE months (id bigint) PARTITION BY RANGE (id);
CREATE TABLE a_table_with_a_name_of_sixty_bytes_that_leaves_no_room_for_1 (id bigint) PARTITION BY RANGE (id);
CREATE VIEW seen AS SELECT 1 AS one;
CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one;
CREATE TYPE pair AS (a int, b int);
CREATE ROLE of_few_rights;
GRANT USAGE ON SEQUENCE generator, exact TO of_few_rights;
GRANT UPDATE ON SEQUENCE by_ten TO of_few_rights;
GRANT SELECT ON SEQUENCE fresh TO of_few_rights;
CREATE SEQUENCE of_few;
ALTER SEQUENCE of_few OWNER TO of_few_rights;
CREATE EXTENSION shardid_lease CASCADE;
CREATE EXTENSION shardid_admin;
CREATE EXTENSION shardid_readers;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards TO of_few_rights;
CREATE SERVER nowhere FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '/nowhere');
CREATE USER MAPPING FOR PUBLIC SERVER nowhere OPTIONS (user 'nobody', password 'none');
GRANT USAGE ON FOREIGN SERVER nowhere TO of_few_rights;
SQL
	my ($host, $port) = ($node->host, $node->port);
	query("CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER registry");
	$other_session = open_session($node);
	my $temporary_of_another = ask($other_session, "CREATE TEMP SEQUENCE others; SELECT 'others'::regclass::oid;");
	# The first is a usual one.
	@relations = (
		'generator', sort(grep { $_ ne 'generator' } keys %position), qw(unlogged plain plain_pkey parted seen kept pair pg_class
		  pg_catalog.pg_toast_1255), $temporary_of_another, '0', '1', '4294967295', undef);
	return;
}

sub stop_server
{
	close_session($other_session);
	$node->stop;
	return;
}

# A function has a name, kind (i, s, v: its volatility) and arguments, and may give a set; an argument has a name, a type
# and perhaps a default. That nobody can call those for the planner, t/generator/outside_queries shows. Of those for an
# extension's own use, those of which only the owner has EXECUTE, and those that take any row, are not called.
sub functions
{
	my ($extension) = @_;
	my %functions;
	for (split /\n/, query(<<"SQL"))
SELECT p.oid, format('%I.%I', n.nspname, p.proname), p.provolatile, p.proretset, p.proleakproof, a.position, a.name, format_type(a.type, NULL),
       a.position > p.pronargs - p.pronargdefaults, has_function_privilege('of_few_rights', p.oid, 'EXECUTE')
FROM pg_depend d
JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN LATERAL (
    SELECT row_number() OVER (ORDER BY n) AS position, p.proargnames[n] AS name, type
    FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY u (type, n)
    WHERE coalesce(p.proargmodes[n], 'i') IN ('i', 'b', 'v')) a ON true
WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass AND p.prokind = 'f'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = '$extension') AND 'internal'::regtype <> ALL (p.proargtypes)
  AND 'record'::regtype <> ALL (p.proargtypes) AND 'anyelement'::regtype <> ALL (p.proargtypes)
  -- No text is a value of it.
  AND 'pg_node_tree'::regtype <> ALL (p.proargtypes)
ORDER BY 1, 5
SQL
	{
		my ($oid, $name, $kind, $gives_set, $is_leakproof, $position, $argument, $type, $has_default, $is_public) = split /\|/;
		next if is_internal($name) && $is_public ne 't';
		my $function = $functions{$oid} //= { name => $name, kind => $kind, gives_set => $gives_set eq 't', is_leakproof => $is_leakproof eq 't', arguments => [] };
		push @{ $function->{arguments} }, { name => $argument, type => $type, has_default => $has_default eq 't' } if $position ne '';
	}
	# There has to be a lease before anything is done to one.
	my @functions = map { $functions{$_} } sort { $a <=> $b } keys %functions;
	my $is_first = sub { $_[0]{name} =~ /\.lease_shard$/ };
	return ((grep { $is_first->($_) } @functions), (grep { !$is_first->($_) } @functions));
}

# The statements that come before the calls of a function, each before all calls: for those without arguments, states of
# the sequences that the extension brings; for others an id space, which is the first text of Boundaries.pm.
my $id_space = '00001ARYZ6S41';
my $with_id_space = "DO \$\$ BEGIN IF NOT EXISTS (SELECT FROM shardid_lease.id_space WHERE name = '$id_space') THEN "
  . "PERFORM shardid_lease.create_id_space('$id_space'); END IF; END \$\$";
my %states_before = (
	uuid_v1 => [ states_of('shardid_uuid_seq') ],
	objectid => [ states_of('shardid_objectid_seq') ],
	renew_identity => [ map { states_of($_) } 'shardid_uuid_seq', 'shardid_objectid_seq' ],
	# A transaction that has changed something gets no receipts.
	receipts => [ $with_id_space, "$with_id_space; UPDATE shardid_lease.id_space SET was_set_back = false" ],
	registry_was_moved => [ map { "UPDATE shardid_lease.id_space SET was_set_back = $_" } qw(true false) ],
	map { $_ => [$with_id_space] } qw(lease_shard grant_shards drop_id_space evict_shard reserve_shard unreserve_shard));

# Each begins by taking back what the others left behind.
sub states_of
{
	my ($sequence) = @_;
	return map {
		join '; ', "ALTER SEQUENCE IF EXISTS ${sequence}_renamed RENAME TO $sequence", "ALTER SEQUENCE $sequence SET LOGGED",
		  "ALTER SEQUENCE $sequence INCREMENT 1 CACHE 1 MINVALUE -5 NO MAXVALUE START 1 RESTART", $_
	  } (
		(map { "SELECT setval('$sequence', $_)" } '1', '1, false', '-1', '1152921504606846974', '9223372036854775807'),
		map { "ALTER SEQUENCE $sequence $_" } 'RESTART', 'NO MINVALUE', 'MAXVALUE 1000000 RESTART', 'INCREMENT -1', 'INCREMENT 10 CACHE 7',
		'SET UNLOGGED', "RENAME TO ${sequence}_renamed", 'RESTART');
}

# The calls of a function, named without its schema, after each statement that comes before them.
sub calls_of
{
	my ($function) = @_;
	my ($name) = $function->{name} =~ /(\w+)$/;
	my @values = map { values_of($_) } @{ $function->{arguments} };
	return map { my $before = $_; map { call($function, $_, $before) } combinations(@values) } @{ $states_before{$name} // [''] };
}

# A value of an argument that is left out; its default applies.
my $left_out = \'left out';

sub values_of
{
	my ($argument) = @_;
	my $values =
	  $argument->{name} eq 'parent' ? [ 'months', 'a_table_with_a_name_of_sixty_bytes_that_leaves_no_room_for_1', 'parted', 'plain', 'seen', 'generator', '0', undef ]
	  : $argument->{name} eq 'every' ? [ '1 year', '1 month', '6 hours', '45 minutes', @{ boundaries('interval') } ]
	  : $argument->{type} eq 'regclass' ? \@relations : boundaries($argument->{type});
	$unknown_types{ $argument->{type} } = 1 unless $values;
	return [ $argument->{has_default} ? $left_out : (), $values ? @$values : undef ];
}

# Lists of values, one for each argument: all there are, or, if that is too many, each value of each argument, and some of
# the pairs of values of two, while the rest have usual values or random ones.
sub combinations
{
	my (@values) = @_;
	return product_of(@values) if product(1, map { scalar @$_ } @values) <= rounds(100, 300);
	my @singles = map { my $i = $_; map { { $i => $_ } } @{ $values[$i] } } 0 .. $#values;
	my @pairs = map { { map { $_ => $values[$_][ rand @{ $values[$_] } ] } head(2, shuffle 0 .. $#values) } } 1 .. rounds(30, 2000);
	return map {
		my $usual = rand() < 0.75;
		my @row = map { $_->[ $usual ? 0 : rand @$_ ] } @values;
		@row[ keys %$_ ] = values %$_;
		\@row
	} @singles, @pairs;
}

sub product_of
{
	my ($first, @rest) = @_;
	return [] unless $first;
	my @tails = product_of(@rest);
	return map { my $value = $_; map { [ $value, @$_ ] } @tails } @$first;
}

# A call: its text; the same with its arguments from columns, which is not computed by the planner; statements that
# come before it. Arguments are passed by name where there are names, so that any with a default can be left out.
sub call
{
	my ($function, $values, $before) = @_;
	my (@texts, @columns, @selected);
	my @before = $before || ();
	for my $n (0 .. $#$values)
	{
		my ($value, $argument) = ($values->[$n], $function->{arguments}[$n]);
		if ($argument->{type} eq 'regclass')
		{
			my $relation = ref $value ? 'shardid_seq' : $value // '';
			push @before, rand() < 0.4 ? "ALTER SEQUENCE $relation RESTART" : "SELECT setval('$relation'::regclass, $position{$relation})"
			  if $position{$relation} && rand() < 0.8;
		}
		next if ref $value;
		my $literal = defined $value ? "'" . $value =~ s/'/''/gr . "'::$argument->{type}" : "NULL::$argument->{type}";
		my $name = $argument->{name} eq '' ? '' : "$argument->{name} => ";
		push @texts, $name . $literal;
		push @columns, "${name}c.a$n";
		push @selected, "$literal AS a$n";
	}
	# Of a set, its first row will do: others are asked for two thousand million.
	return {
		text => "$function->{name}(" . join(', ', @texts) . ')' . ($function->{gives_set} ? ' LIMIT 1' : ''),
		by_column => "$function->{name}(" . join(', ', @columns) . ') FROM (SELECT ' . join(', ', @selected) . ' OFFSET 0) c',
		before => join('; ', @before) };
}

1;
