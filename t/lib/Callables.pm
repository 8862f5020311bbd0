# What t/generator/every_call and contrib/lease/t/every_call call: the functions of an extension, and relations of every kind and in every
# state to call them with.
package Callables;

use ShardidTest;
use Exporter 'import';
use Docs;

our @EXPORT = qw(start_server stop_server query functions relations before_relation own_states $node);
our $node;

sub query { return $node->safe_psql('postgres', $_[0]) }

# A function has a name, kind (i, s, v: its volatility) and arguments, and may give a set; an argument
# has a name, a type and perhaps a default. That nobody can call the one for the planner, t/generator/outside_queries
# shows. Of those for an extension's own use, what they raise is not listed; those of which only the owner has EXECUTE,
# and those that take any row, are not called.
sub functions
{
	my ($extension) = @_;
	my %functions;
	for (split /\n/, query(<<"SQL"))
SELECT p.oid, format('%I.%I', n.nspname, p.proname), p.provolatile, p.proretset, a.position, a.name, format_type(a.type, NULL),
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
  AND 'record'::regtype <> ALL (p.proargtypes)
ORDER BY 1, 5
SQL
	{
		my ($oid, $name, $kind, $gives_set, $position, $argument, $type, $has_default, $is_public) = split /\|/;
		next if is_internal($name) && $is_public ne 't';
		my $function = $functions{$oid} //= { name => $name, kind => $kind, gives_set => $gives_set eq 't', arguments => [] };
		next if $position eq '';
		push @{ $function->{arguments} },
		  { name => $argument, type => $type, has_default => $has_default eq 't' };
	}
	# There has to be a lease before anything is done to one.
	my @functions = map { $functions{$_} } sort { $a <=> $b } keys %functions;
	my $is_first = sub { $_[0]{name} =~ /\.lease_shard$/ };
	return ((grep { $is_first->($_) } @functions), (grep { !$is_first->($_) } @functions));
}

# Relations of every kind, and sequences in every state. A call that names one of those is made after
# the statement given here, in most cases: what calls with other layouts leave behind is a state too.
my %state = (
	generator => 'SELECT setval(%s, 1)',
	fresh => '/* %s */ ALTER SEQUENCE fresh RESTART',
	not_called => 'SELECT setval(%s, 1, false)',
	near_its_end => 'SELECT setval(%s, 9223372036854775806)',
	at_its_end => 'SELECT setval(%s, 9223372036854775807)',
	near_the_end_of_the_layout => 'SELECT setval(%s, (1::bigint << 51) - 2)',
	below_zero => 'SELECT setval(%s, -5)',
	of_int => 'SELECT setval(%s, 1)',
	exact => 'SELECT setval(%s, 1)',
	by_ten => 'SELECT setval(%s, 7)',
	by_far => 'SELECT setval(%s, 7)',
	cycle => 'SELECT setval(%s, 9223372036854775807)',
	downwards => 'SELECT setval(%s, -1)',
	shardid_seq => 'SELECT setval(%s, 1)',
	of_few => 'SELECT setval(%s, 1)',
	'pg_temp.temporary' => 'SELECT setval(%s, 1)',);

# What comes before a call with this relation, most times.
sub before_relation
{
	my ($relation) = @_;
	return $state{$relation} && rand() < 0.8 ? sprintf $state{$relation}, "'$relation'::regclass" : ();
}

# And those of the sequences that the extension brings for functions without arguments: each statement
# comes after those that take back what the others left behind.
my %own_sequences = (
	uuid_v1 => ['shardid_uuid_seq'],
	objectid => ['shardid_objectid_seq'],
	renew_identity => [ 'shardid_uuid_seq', 'shardid_objectid_seq' ]);
my @own_states = (
	'SELECT setval(%s, 1)',
	'SELECT setval(%s, 1, false)',
	'SELECT setval(%s, -1)',
	'SELECT setval(%s, 1152921504606846974)',
	'SELECT setval(%s, 9223372036854775807)',
	'ALTER SEQUENCE %s RESTART',
	'ALTER SEQUENCE %s NO MINVALUE',
	'ALTER SEQUENCE %s MAXVALUE 1000000 RESTART',
	'ALTER SEQUENCE %s INCREMENT -1',
	'ALTER SEQUENCE %s INCREMENT 10 CACHE 7',
	'ALTER SEQUENCE %s SET UNLOGGED',
	'ALTER SEQUENCE %1$s RENAME TO %1$s_renamed',
	'ALTER SEQUENCE %s RESTART');

# What the first text of Boundaries.pm names, and those for which it has to be there.
my $id_space = '00001ARYZ6S41';
my %needs_id_space = map { $_ => 1 } qw(lease_shard grant_shards receipts drop_id_space evict_shard reserve_shard
  unreserve_shard);

sub own_states
{
	my ($name) = @_;
	if ($needs_id_space{$name})
	{
		my $with_id_space = "DO \$\$ BEGIN IF NOT EXISTS (SELECT FROM shardid_lease.id_space WHERE name = '$id_space') THEN "
		  . "PERFORM shardid_lease.create_id_space('$id_space'); END IF; END \$\$";
		# A transaction that has changed something gets no receipts.
		return ($with_id_space, $name eq 'receipts' ? "$with_id_space; UPDATE shardid_lease.id_space SET was_set_back = false" : ());
	}
	return map { "UPDATE shardid_lease.id_space SET was_set_back = $_" } qw(true false) if $name eq 'registry_was_moved';
	return ('') unless $own_sequences{$name};
	my @before;
	for my $sequence (@{ $own_sequences{$name} })
	{
		for my $state (@own_states)
		{
			push @before, join '; ', "ALTER SEQUENCE IF EXISTS ${sequence}_renamed RENAME TO $sequence",
			  "ALTER SEQUENCE $sequence SET LOGGED",
			  "ALTER SEQUENCE $sequence INCREMENT 1 CACHE 1 MINVALUE -5 NO MAXVALUE START 1 RESTART",
			  sprintf $state, $state =~ /setval/ ? "'$sequence'" : $sequence;
		}
	}
	return @before;
}

sub create_relations
{
	query(<<'SQL');
CREATE SEQUENCE generator;
CREATE SEQUENCE fresh;
CREATE SEQUENCE near_its_end;
CREATE SEQUENCE not_called;
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
GRANT USAGE ON SCHEMA shardid_admin TO of_few_rights;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards TO of_few_rights;
CREATE SERVER nowhere FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '/nowhere');
CREATE USER MAPPING FOR PUBLIC SERVER nowhere OPTIONS (user 'nobody', password 'none');
GRANT USAGE ON FOREIGN SERVER nowhere TO of_few_rights;
SQL
	my ($host, $port) = ($node->host, $node->port);
	query("CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'postgres')");
	query('CREATE USER MAPPING FOR CURRENT_USER SERVER registry');
	return;
}

# The other session has a temporary sequence, and stays.
my ($other_session, $others);

sub start_server
{
	# Who has no lease need not be waited for.
	$node = new_node('every_call', "shardid_lease.timeout = 100ms\n");
	create_relations();
	my $in = "CREATE TEMP SEQUENCE others; SELECT 'others'::regclass::oid;\n";
	$other_session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$others, IPC::Run::timeout(3600));
	$other_session->pump until ($others // '') =~ /\n/;
	chomp $others;
	return;
}

sub stop_server
{
	$other_session->finish;
	$node->stop;
	return;
}

sub relations
{
	return [
		'generator', sort(grep { $_ ne 'generator' } keys %state), 'unlogged', 'plain', 'plain_pkey',
		'parted', 'seen', 'kept', 'pair', 'pg_class', 'pg_catalog.pg_toast_1255', $others, '0', '1',
		'4294967295', undef
	];
}

1;
