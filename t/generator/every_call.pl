# Every function that the extensions have, called with every boundary of every argument type: a result,
# or an SQLSTATE that docs/reference.md lists for the function. The functions come from pg_proc,
# so that a new one is covered as it is.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use List::Util qw(all head product shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Boundaries;
use Docs;
use ShardidTest;

# Which values meet is random where there are too many to call all: the seed brings them again.
my $seed = $ENV{SHARDID_SEED} || int rand 2**31;
srand $seed;
my $wants_all_pairs = $ENV{FULL};
my $rounds = $ENV{FULL} ? 10 : 1;
my $max_product = $ENV{FULL} ? 4000 : 300;
my $max_of_leases = $ENV{FULL} ? 600 : 150;

# Who has no lease need not be waited for.
my $node = new_node('every_call', "shardid.lease_timeout = 100ms\n");
sub query { return $node->safe_psql('postgres', $_[0]) }

# --- What there is to call.

# Those that shardid_lease has for its own use, by their names: what they raise is not listed. Those of which
# only the owner has EXECUTE are not called.
my %is_internal = map { $_ => 1 } internal_functions();

# A function has a name, kind (i, s, v: its volatility) and arguments, and may give a set; an argument
# has a name, a type and perhaps a default. That nobody can call the one for the planner, t/generator/copy shows.
sub functions
{
	my %functions;
	for (split /\n/, query(<<'SQL'))
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
  AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('shardid', 'shardid_lease')) AND 'internal'::regtype <> ALL (p.proargtypes)
  AND 'regprocedure[]'::regtype <> ALL (p.proargtypes)
ORDER BY 1, 5
SQL
	{
		my ($oid, $name, $kind, $gives_set, $position, $argument, $type, $has_default, $is_public) = split /\|/;
		next if $is_internal{ $name =~ s/.*\.//r } && $is_public ne 't';
		my $function = $functions{$oid} //= { name => $name, kind => $kind, gives_set => $gives_set eq 't', arguments => [] };
		next if $position eq '';
		push @{ $function->{arguments} },
		  { name => $argument, type => $type, has_default => $has_default eq 't' };
	}
	# There has to be a lease before anything is done to one.
	my @functions = map { $functions{$_} } sort { $a <=> $b } keys %functions;
	my $is_lease = sub { $_[0]{name} =~ /^shardid_lease\./ };
	return (
		(grep { !$is_lease->($_) } @functions),
		(grep { $_->{name} =~ /\.lease_shard$/ } @functions),
		(grep { $is_lease->($_) && $_->{name} !~ /\.lease_shard$/ } @functions));
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
my %needs_id_space = map { $_ => 1 } qw(lease_shard grant_shards return_shard drop_id_space evict_shard reserve_shard
  unreserve_shard);

sub own_states
{
	my ($name) = @_;
	return (
		"DO \$\$ BEGIN IF NOT EXISTS (SELECT FROM shardid_lease.id_space WHERE name = '$id_space') THEN "
		  . "PERFORM shardid_lease.create_id_space('$id_space'); END IF; END \$\$") if $needs_id_space{$name};
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
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards TO of_few_rights;
CREATE SERVER nowhere FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '/nowhere');
CREATE USER MAPPING FOR PUBLIC SERVER nowhere OPTIONS (user 'nobody', password 'none');
GRANT USAGE ON FOREIGN SERVER nowhere TO of_few_rights;
SQL
	return;
}

# Another session, with a temporary sequence, that stays until finish.
sub start_other_session
{
	my ($in, $out) = ("CREATE TEMP SEQUENCE others; SELECT 'others'::regclass::oid;\n", '');
	my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
		'<', \$in, '>', \$out, IPC::Run::timeout(3600));
	$session->pump until $out =~ /\n/;
	chomp $out;
	return ($session, $out);
}

sub regclass_values
{
	my ($others) = @_;
	return [
		'generator', sort(grep { $_ ne 'generator' } keys %state), 'unlogged', 'plain', 'plain_pkey',
		'parted', 'seen', 'kept', 'pair', 'pg_class', 'pg_catalog.pg_toast_1255', $others, '0', '1',
		'4294967295', undef
	];
}

# --- The calls.

# A value of an argument that is left out; its default applies.
my $left_out = \'left out';
my %unknown_types;
my $others_sequence;

sub values_of
{
	my ($argument) = @_;
	my $values =
	  $argument->{name} eq 'parent' ? [ 'months', 'a_table_with_a_name_of_sixty_bytes_that_leaves_no_room_for_1', 'parted', 'plain', 'seen', 'generator', '0', undef ]
	  : $argument->{name} eq 'every' ? [ '1 year', '1 month', '6 hours', '45 minutes', @{ boundaries('interval') } ]
	  : $argument->{type} eq 'regclass' ? regclass_values($others_sequence) : boundaries($argument->{type});
	unless ($values)
	{
		$unknown_types{ $argument->{type} } = 1;
		$values = [undef];
	}
	return $argument->{has_default} ? [ $left_out, @$values ] : $values;
}

# Lists of values, one for each argument: all there are, or, if that is too many, each value of each
# argument with each of every other while the rest have usual values or random ones. Of these make test takes each value of
# each argument, and some of the pairs.
sub combinations
{
	my (@values) = @_;
	return product_of(@values) if product(1, map { scalar @$_ } @values) <= $max_product;
	my @singles = map { my $i = $_; map { [ $i, $_ ] } @{ $values[$i] } } 0 .. $#values;
	my @pairs;
	for my $i (0 .. $#values)
	{
		for my $j ($i + 1 .. $#values)
		{
			push @pairs, map { [ $i, $_->[0], $j, $_->[1] ] } product_of($values[$i], $values[$j]);
		}
	}
	@pairs = (@singles, head($max_product, shuffle @pairs)) unless $wants_all_pairs;
	return map { combination($_, @values) } @pairs;
}

# $set: an argument and its value, and perhaps another.
sub combination
{
	my ($set, @values) = @_;
	my $usual = rand() < 0.75;
	my @row = map { $_->[ $usual ? 0 : rand @$_ ] } @values;
	my %set = @$set;
	@row[ keys %set ] = values %set;
	return \@row;
}

# Of leases, as many as there is time for.
sub some_of
{
	my (@values) = @_;
	return product_of(@values) if product(1, map { scalar @$_ } @values) <= $max_of_leases;
	return map {
		[ map { $_->[ rand() < 0.5 ? 0 : rand @$_ ] } @values ]
	} 1 .. $max_of_leases;
}

sub product_of
{
	my ($first, @rest) = @_;
	return [] unless $first;
	my @tails = product_of(@rest);
	return map { my $value = $_; map { [ $value, @$_ ] } @tails } @$first;
}

sub literal
{
	my ($value, $type) = @_;
	return "NULL::$type" unless defined $value;
	return "'" . $value =~ s/'/''/gr . "'::$type";
}

# By name where there are names, so that any argument with a default can be left out.
sub argument_list
{
	my ($function, $texts) = @_;
	my @arguments = @{ $function->{arguments} };
	return join ', ', map {
		!defined $texts->[$_] ? () : $arguments[$_]{name} eq '' ? $texts->[$_] : "$arguments[$_]{name} => $texts->[$_]"
	} 0 .. $#arguments;
}

# What has to be true of a result %1$s, by the functions that take it apart again.
my %inverse = (
	next_id => \&is_of_shard,
	next_ids => \&is_of_shard,
	id_parts => sub {
		my ($of) = @_;
		return
		    "(id_timestamp($of->{id}"
		  . layout($of, qw(epoch shard_bits sequence_bits))
		  . "), id_shard($of->{id}"
		  . layout($of, qw(shard_bits sequence_bits))
		  . "), id_sequence($of->{id}"
		  . layout($of, 'sequence_bits')
		  . '))::text = %1$s';
	},
	# No id shows a time after the last millisecond of timestamptz.
	id_lower_bound => sub {
		my ($of) = @_;
		return if $of->{ts} =~ /294276-12-31 23:59:59.999999/;
		my $timestamp = sub { "id_timestamp($_[0]" . layout($of, qw(epoch shard_bits sequence_bits)) . ')' };
		my $previous = q((CASE %1$s WHEN '-9223372036854775808' THEN 9223372036854775807 ELSE %1$s::bigint - 1 END));
		return $timestamp->('%1$s::bigint') . " >= $of->{ts} AND (%1\$s = '0' OR "
		  . $timestamp->($previous)
		  . " < $of->{ts})";
	},
	uuid_v1 => sub { return q(uuid_v1_timestamp(%1$s) > '2020-01-01') },
	objectid => sub { return 'length(%1$s::bytea) = 12' },
	objectid_from => sub {
		my ($of) = @_;
		return "objectid_timestamp(%1\$s) = date_trunc('second', $of->{ts}) AND substr(%1\$s::bytea, 5) ="
		  . " decode(lpad(to_hex($of->{machine}), 6, '0') || lpad(to_hex($of->{pid}), 4, '0')"
		  . " || lpad(to_hex($of->{counter}), 6, '0'), 'hex')";
	},
	objectid_timestamp => sub {
		return "objectid_from(%1\$s, 0, 0, 0) = substr($_[0]{1}, 1, 4) || '\\x0000000000000000'";
	},
	uuid_v1_from => sub { return uuid_is_of('uuid_v1', @_) },
	uuid_v6_from => sub { return uuid_is_of('uuid_v6', @_) },
	(map { ("uuid_v1_$_" => \&uuid_v1_round_trip, "uuid_v6_$_" => \&uuid_v6_round_trip) }
		  qw(timestamp hundred_ns clock_seq node)),
	uuid_v1_to_v6 => sub { return "uuid_v6_to_v1(%1\$s) = $_[0]{1}" },
	uuid_v6_to_v1 => sub { return "uuid_v1_to_v6(%1\$s) = $_[0]{1}" },
	scatter_digits => sub { "gather_digits(%1\$s" . layout($_[0], 'digits') . ") = $_[0]{id}" },
	gather_digits => sub { "scatter_digits(%1\$s" . layout($_[0], 'digits') . ") = $_[0]{scattered}" },
	scatter_bits => sub { "gather_bits(%1\$s, $_[0]{bits}) = $_[0]{id} AND %1\$s::bigint >= 0" },
	gather_bits => sub { "scatter_bits(%1\$s, $_[0]{bits}) = $_[0]{scattered} AND %1\$s::bigint >= 0" },
	id_to_text => sub { "id_from_text(%1\$s) = $_[0]{id}" },
	id_from_text => sub { "id_to_text(%1\$s) = translate(upper($_[0]{1}), 'OIL', '011')" });

sub uuid_is_of
{
	my ($functions, $of) = @_;
	my $hundred_ns = $of->{hundred_ns} // 0;
	return "${functions}_timestamp(%1\$s) = $of->{ts} AND ${functions}_clock_seq(%1\$s) = $of->{clkseq}"
	  . " AND ${functions}_node(%1\$s) = $of->{mac} AND ${functions}_hundred_ns(%1\$s) = $hundred_ns";
}

sub is_of_shard
{
	my ($of) = @_;
	return unless $of->{shard};
	return "id_shard(%1\$s::bigint" . layout($of, qw(shard_bits sequence_bits)) . ") = $of->{shard}";
}

sub uuid_round_trip
{
	my ($functions, $of) = @_;
	my $parts = join ', ', map { "${functions}_$_($of->{1})" } qw(timestamp clock_seq node hundred_ns);
	return "%1\$s IS NOT NULL AND ${functions}_from($parts) = $of->{1}";
}

sub uuid_v1_round_trip { return uuid_round_trip('uuid_v1', @_) }
sub uuid_v6_round_trip { return uuid_round_trip('uuid_v6', @_) }

# Those of the arguments that the call has, to be passed on.
sub layout
{
	my ($of, @names) = @_;
	return join '', map { defined $of->{$_} ? ", $_ => $of->{$_}" : () } @names;
}

# A call: its text; the same with its arguments from columns, which is not computed by the planner; a
# condition on its result; statements that come before it.
sub call
{
	my ($function, $values, $before) = @_;
	my @arguments = @{ $function->{arguments} };
	my (@texts, @columns, @selected, %of);
	my @before = $before || ();
	for my $n (0 .. $#arguments)
	{
		my ($value, $type) = ($values->[$n], $arguments[$n]{type});
		if ($type eq 'regclass')
		{
			my $relation = ref $value ? 'shardid_seq' : $value;
			push @before, sprintf $state{$relation}, literal($relation, 'regclass')
			  if defined $relation && $state{$relation} && rand() < 0.8;
		}
		next if ref $value;
		$texts[$n] = literal($value, $type);
		$columns[$n] = "c.a$n";
		push @selected, "$texts[$n] AS a$n";
		$of{ $arguments[$n]{name} || $n + 1 } = $texts[$n];
	}
	my $name = $function->{name} =~ s/.*\.//r;
	my $inverse = all { defined || ref } @$values;
	return {
		# Of a set, its first row will do: others are asked for two thousand million.
		text => "$function->{name}(" . argument_list($function, \@texts) . ')' . ($function->{gives_set} ? ' LIMIT 1' : ''),
		by_column => "$function->{name}("
		  . argument_list($function, \@columns)
		  . ') FROM (SELECT '
		  . join(', ', @selected)
		  . ' OFFSET 0) c',
		inverse => $inverse && $inverse{$name} ? $inverse{$name}->(\%of) // '' : '',
		before => join('; ', @before) };
}

# --- Calling them.

# attempt() says "result: ...", "error: SQLSTATE", or what is wrong. A function that always gives the
# same result is called three times, first without its result being made text: that may raise errors
# of its own.
sub create_attempt
{
	query(<<'SQL');
CREATE TABLE calls (n int, circumstance int, before text, text text, by_column text, inverse text, is_stable bool);
GRANT SELECT ON calls TO public;
CREATE FUNCTION bring_about(statements text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    EXECUTE statements;
EXCEPTION WHEN read_only_sql_transaction THEN
    NULL;
END $$;
CREATE FUNCTION attempt(call calls) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
    again text;
    holds bool;
BEGIN
    IF call.before <> '' THEN
        PERFORM bring_about(call.before);
    END IF;
    BEGIN
        IF call.is_stable THEN
            EXECUTE 'SELECT ' || call.text;
        ELSE
            EXECUTE 'SELECT ' || call.text INTO result;
        END IF;
    EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
        RETURN 'error: ' || SQLSTATE;
    END;
    IF call.is_stable THEN
        EXECUTE 'SELECT ' || call.text INTO result;
        EXECUTE 'SELECT ' || call.by_column INTO again;
        IF result IS DISTINCT FROM again THEN
            RETURN format('first %L, then %L', result, again);
        END IF;
    END IF;
    IF call.inverse <> '' AND result IS NOT NULL THEN
        EXECUTE 'SELECT ' || format(call.inverse, quote_literal(result)) INTO holds;
        IF holds IS NOT TRUE THEN
            RETURN format('%L is not true', format(call.inverse, quote_literal(result)));
        END IF;
    END IF;
    RETURN 'result: ' || coalesce(translate(result, E'\n', ' '), 'NULL');
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    RETURN format('%s: %s: after the call', SQLSTATE, SQLERRM);
END $$;
SQL
	return;
}

# Functions that draw depend on more than their arguments.
my $each_alone = q(SELECT format('SELECT %s, attempt(c) FROM calls c WHERE n = %s', n, n) FROM calls ORDER BY n \gexec);
my $all_at_once = q(SELECT n, attempt(calls) FROM calls ORDER BY n;);
my @circumstances = (
	[ 'each call a transaction' => $each_alone ],
	[ 'one transaction, a shard set' => "SET shardid.shard_id = 5;\n$all_at_once" ],
	[
		'one transaction, too large a shard set, no lead allowed' =>
		  "SET shardid.shard_id = 2147483647; SET shardid.max_lead = 0; $all_at_once"
	],
	[ 'a role of few rights' => "SET ROLE of_few_rights; $all_at_once" ],
	[ 'read-only' => "BEGIN READ ONLY; SET LOCAL shardid.shard_id = 5; $all_at_once COMMIT;" ],);

# The answers, a line a call: number|answer.
sub answers
{
	my ($calls, $is_stable, $script) = @_;
	my @rows = map {
		join("\t", $_, 0, map({ s/\\/\\\\/gr } @{ $calls->[$_] }{qw(before text by_column inverse)}), $is_stable)
		  . "\n"
	} 0 .. $#$calls;
	my $copy = join '', "TRUNCATE calls;\nCOPY calls FROM STDIN;\n", @rows, "\\.\n;CREATE INDEX ON calls (n)";
	utf8::encode($copy);
	query($copy);
	my ($code, $out, $err) = $node->psql('postgres', <<SQL, on_error_stop => 0, timeout => 900);
SET statement_timeout = '300s';
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE TEMP SEQUENCE temporary;
GRANT ALL ON SEQUENCE temporary TO public;
$script
SQL
	diag $err if $err;
	return split /\n/, $out;
}

my ($calls, $violations) = (0, 0);

# Calls the function in every circumstance, and notes in its part of the reference what came up.
sub check_function
{
	my ($function, $part_of) = @_;
	my ($name) = $function->{name} =~ /(\w+)$/;
	my $signature = "$name(" . join(', ', map { $_->{type} } @{ $function->{arguments} }) . ')';
	# A row of the extension's own tables has no boundaries, and types' own functions are not called.
	return if $is_internal{$name} && grep { $_->{type} =~ /^(?:shardid_lease\.|cstring$)/ } @{ $function->{arguments} };
	my $part = $is_internal{$name} ? { any => 1 } : $part_of->{$name};
	ok($part, "$signature stands in docs/reference.md") or return;
	my $is_stable = $function->{kind} eq 'v' ? 0 : 1;
	my @when = $is_stable ? [ 'not volatile' => $all_at_once ] : @circumstances;
	# What nobody is to call has to do no harm.
	@when = grep { $_->[0] eq 'a role of few rights' } @when if $is_internal{$name} && !$is_stable && !$ENV{FULL};
	for my $circumstance (@when)
	{
		my ($when, $script) = @$circumstance;
		my @calls;
		for my $before ((own_states($name)) x $rounds)
		{
			my @values = map { values_of($_) } @{ $function->{arguments} };
			push @calls, map { call($function, $_, $before) } $function->{name} =~ /^shardid_lease/ ? some_of(@values) : combinations(@values);
		}
		my ($answered, $results, @bad) = (0, 0);
		for (answers(\@calls, $is_stable, $script))
		{
			my ($n, $answer) = split /\|/, $_, 2;
			my ($sqlstate) = $answer =~ /^error: (.*)/;
			$answered++;
			$results++ if $answer =~ /^result: (?!NULL)/;
			$part->{met}{$sqlstate} = 1 if $sqlstate;
			push @bad, "SELECT $calls[$n]{text}; -- after $calls[$n]{before}: $answer"
			  unless $sqlstate ? ($part->{any} ? $sqlstate ne 'XX000' : $part->{listed}{$sqlstate}) : $answer =~ /^result: /;
		}
		$calls += @calls;
		$violations += @bad;
		is($answered, scalar @calls, "$signature, $when: " . @calls . " calls, $results results");
		is(scalar @bad, 0, 'every other one was NULL or an SQLSTATE that is listed')
		  or diag join "\n", @bad[ 0 .. ($#bad < 19 ? $#bad : 19) ];
	}
	return;
}

sub never_met
{
	my ($part) = @_;
	return grep { !/^(08001|25000|57014|53400|2F003|55P03)$/ && !$part->{met}{$_} && "$part->{title} $_" ne 'id_migration_commands 2200H' }
	  sort keys %{ $part->{listed} };
}

create_relations();
create_attempt();
(my $other_session, $others_sequence) = start_other_session();
my $part_of = parts_of_reference();
check_function($_, $part_of) for functions();
# Some of the pairs may not bring up all that is listed: then others are called, at last all.
for my $try ($ENV{FULL} ? () : (1 .. 12))
{
	($wants_all_pairs, $max_product) = (1, 1000) if $try == 12;
	for my $function (functions())
	{
		my ($name) = $function->{name} =~ /(\w+)$/;
		check_function($function, $part_of) if $part_of->{$name} && never_met($part_of->{$name});
	}
}
is(query("SELECT count(*) FROM pg_proc p JOIN pg_depend d ON classid = 'pg_proc'::regclass AND objid = p.oid
	WHERE deptype = 'e' AND prokind <> 'f' AND proname <> 'maintain_id_partitions' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid')"),
	0, 'there is no aggregate, and no procedure but the one of t/partitions, which have to be called another way');
is(join(', ', sort keys %unknown_types), '', 'every argument type has its boundaries in Boundaries.pm');

# A list that says more than what can happen would be no list. That no function comes into a parallel
# worker, which would be 25000, is what PARALLEL UNSAFE is for; nothing is cancelled here, 57014; slots for
# background workers are not used up, 53400, which t/lease/events does; nobody leaves out a password, 2F003, but t/lease/renewal; no
# registry is out of reach, 08001, but in t/lease/waits; and no other transaction uses a generator that is released, 55P03.
# Few calls of id_migration_commands have a layout that has ended and nothing else that is refused, 2200H: sql/whole_schema has one.
my %parts = map { $_->{title} => $_ } values %$part_of;
for my $part (@parts{ sort keys %parts })
{
	is(join(' ', never_met($part)), '', "$part->{title}: every SQLSTATE listed has come up");
}

$other_session->finish;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|runtime error:/,
	'nothing worse in the log');
diag "to repeat these calls: SHARDID_SEED=$seed" if $violations;
append_to_file("$ENV{SANDBOX}/faults", "every boundary of every argument\t$rounds\t$calls calls\t$violations\n")
  if $ENV{SANDBOX};
$node->stop;
done_testing();
