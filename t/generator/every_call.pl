# Every function of the extensions, called with every boundary of every argument type and in every circumstance: a result,
# or an SQLSTATE that docs/reference.md lists for the function, and none if it is LEAKPROOF; and each SQLSTATE listed comes up. The functions come from
# pg_proc, so that a new one is covered as it is.
use Calls;
use Docs;
use ShardidTest;

# Which values meet is random where there are too many to call all: the seed brings them again.
my $seed = $ENV{SHARDID_SEED} || int rand 2**31;
srand $seed;
note "SHARDID_SEED=$seed";
start_server();

# attempt() says "result: ...", "error: SQLSTATE", or what is wrong. A function that always gives the same result is called
# three times, first without its result being made text: that may raise errors of its own.
query(<<'SQL');
CREATE TABLE calls (n int, before text, text text, by_column text, is_stable bool);
CREATE INDEX ON calls (n);
GRANT SELECT ON calls TO public;
-- Statements that read a table may not call settled_below.
CREATE FUNCTION calls_from(a int, b int) RETURNS SETOF calls LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT * FROM calls WHERE n BETWEEN a AND b ORDER BY n;
END $$;
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
    RETURN 'result: ' || coalesce(translate(result, E'\n', ' '), 'NULL');
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    RETURN format('%s: %s: after the call', SQLSTATE, SQLERRM);
END $$;
SQL

# Functions that draw depend on more than their arguments.
my $each_alone = q(SELECT format('SELECT n, attempt(c) FROM calls_from(%s, %s) c', n, n) FROM calls ORDER BY n \gexec);
my $all_at_once = q(SELECT n, attempt(c) FROM calls_from(0, 2147483647) c;);
my %circumstances = (
	'each call a transaction' => $each_alone,
	'one transaction, a shard set' => "SET shardid.shard_id = 5;\n$all_at_once",
	'one transaction, too large a shard set, no lead allowed' => "SET shardid.shard_id = 2147483647; SET shardid.max_lead = 0; $all_at_once",
	'a role of few rights' => "SET ROLE of_few_rights; $all_at_once",
	'read-only' => "BEGIN READ ONLY; SET LOCAL shardid.shard_id = 5; $all_at_once COMMIT;");

# The circumstances of a function. The settings of a session are for those that draw, not for those that print commands
# or lease; and what nobody is to call has to do no harm.
sub circumstances_of
{
	my ($function) = @_;
	my @all = sort keys %circumstances;
	return @all if $ENV{FULL};
	return 'a role of few rights' if is_internal($function->{name});
	return grep { !/^one transaction/ } @all if $function->{name} =~ /_commands$|^shardid_lease/;
	return @all;
}

# The answers, a line a call: number|answer. One session makes all calls, as if each time it were a new one.
local $PostgreSQL::Test::Utils::timeout_default = 3600;
my $session = open_session($node);

sub answers
{
	my ($calls, $is_stable, $script) = @_;
	my $copy = join '', map { join("\t", $_, map({ s/\\/\\\\/gr } @{ $calls->[$_] }{qw(before text by_column)}), $is_stable) . "\n" } 0 .. $#$calls;
	utf8::encode($copy);
	my @said = split /\n/, ask($session, <<SQL);
DISCARD ALL;
TRUNCATE calls;
COPY calls FROM STDIN;
${copy}\\.
SET statement_timeout = '1200s';
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE TEMP SEQUENCE temporary;
GRANT ALL ON SEQUENCE temporary TO public;
$script
SQL
	diag $_ for grep { !/^\d+\|/ } @said;
	return grep { /^\d+\|/ } @said;
}

my ($calls, $violations) = (0, 0);
my $part_of = parts_of_reference();

# Calls the function in every circumstance, and notes in its part of the reference what came up.
sub check_function
{
	my ($function) = @_;
	my ($name) = $function->{name} =~ /(\w+)$/;
	my $signature = "$name(" . join(', ', map { $_->{type} } @{ $function->{arguments} }) . ')';
	# A row of the extension's own tables has no boundaries, and types' own functions are not called.
	my $is_internal = is_internal($function->{name});
	return if $is_internal && grep { $_->{type} =~ /^(?:shardid_lease\.|cstring$)/ } @{ $function->{arguments} };
	my $part = $is_internal ? { any => 1 } : $part_of->{$name};
	ok($part, "$signature stands in docs/reference.md") or return;
	my $is_stable = $function->{kind} eq 'v' ? 0 : 1;
	for my $when ($is_stable ? 'not volatile' : circumstances_of($function))
	{
		my @calls = map { calls_of($function) } 1 .. rounds(1, 10);
		my ($answered, $results, @bad) = (0, 0);
		for (answers(\@calls, $is_stable, $circumstances{$when} // $all_at_once))
		{
			my ($n, $answer) = split /\|/, $_, 2;
			my ($sqlstate) = $answer =~ /^error: (.*)/;
			$answered++;
			$results++ if $answer =~ /^result: (?!NULL)/;
			$part->{met}{$sqlstate} = 1 if $sqlstate;
			push @bad, "SELECT $calls[$n]{text}; -- after $calls[$n]{before}: $answer"
			  unless $sqlstate ? !$function->{is_leakproof} && ($part->{any} ? $sqlstate ne 'XX000' : $part->{listed}{$sqlstate}) : $answer =~ /^result: /;
		}
		$calls += @calls;
		$violations += @bad;
		is($answered, scalar @calls, "$signature, $when: " . @calls . " calls, $results results");
		is(scalar @bad, 0, 'every other one was NULL or an SQLSTATE that is listed')
		  or diag join "\n", @bad[ 0 .. ($#bad < 19 ? $#bad : 19) ];
	}
	return;
}

# A list that says more than what can happen would be no list. That no function comes into a parallel worker, which would be
# 25000, is what PARALLEL UNSAFE is for; nothing is cancelled here, 57014; slots for background workers are not used up, 53400,
# which contrib/lease/t/workers does, nor is the lock table, 53200, but in t/settled/rules; nobody leaves out a password, 2F003,
# but contrib/lease/t/renewal; no registry is out of reach, 57P03, but in contrib/lease/t/waits; and no lock is waited for,
# 55P03. No transaction is REPEATABLE READ, which a registry refuses, 0A000: sql/lease_registry has some that are. Rows are
# read, and readers are there already, in contrib/readers/sql only.
sub never_met
{
	my ($part) = @_;
	return grep {
		!/^(57P03|25000|57014|53200|53400|2F003|55P03)$/ && !$part->{met}{$_} && "$part->{title} $_" !~ /^The registry 0A000|^shardid_readers (?:0A000|25006|42501|42710|42804)$/
	  } sort keys %{ $part->{listed} };
}

my @functions = map { functions($_) } 'shardid', 'shardid_admin', 'shardid_lease', 'shardid_readers';
check_function($_) for @functions;
# Some of the pairs may not bring up all that is listed: then others are called.
for (1 .. 50)
{
	my @missing = grep { my $part = $part_of->{ $_->{name} =~ s/.*\.//r }; $part && never_met($part) } @functions or last;
	check_function($_) for @missing;
}
is(join(', ', unknown_types()), '', 'every argument type has its boundaries in Boundaries.pm');
is(query(<<'SQL'), 'maintain_id_partitions work', 'no other but that of contrib/admin/t and that of the worker of leases has to be called another way');
SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc JOIN pg_depend d ON classid = 'pg_proc'::regclass AND objid = pg_proc.oid JOIN pg_extension e ON e.oid = refobjid
WHERE deptype = 'e' AND prokind <> 'f' AND extname LIKE 'shardid%'
SQL
my %parts = map { $_->{title} => $_ } values %$part_of;
is(join(' ', never_met($parts{$_})), '', "$_: every SQLSTATE listed has come up") for sort keys %parts;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|runtime error:/, 'nothing worse in the log');
diag "to repeat these calls: SHARDID_SEED=$seed" if $violations;
note_fault('every boundary of every argument', rounds(1, 10), "$calls calls", $violations);
close_session($session);
stop_server();
done_testing();
