# A function in the place of next_id, and a trigger that calls it, as docs/clients.md says for every client: whether EXPLAIN
# shows next_id, whether COPY inserts in batches, and which rights a role needs.
use Clients;
use ShardidTest;

my $node = clients_node('wrappers');

sub error_of
{
	my ($sql) = @_;
	my ($result, $out, $err) = $node->psql($ENV{PGDATABASE}, "\\set VERBOSITY verbose\n$sql");
	return $err =~ /ERROR:  (\w{5}): / ? $1 : "none: $out";
}

# --- A function in the place of next_id

new_database('wrappers', 'ids.sql', 'tables.sql', 'sharded.sql', 'wrappers.sql');
on(<<'SQL');
CREATE EXTENSION pg_walinspect;
CREATE TABLE t (id bigint, n int);
CREATE ROLE with_nothing;
CREATE ROLE with_generator;
CREATE ROLE with_both;
CREATE ROLE app;
GRANT INSERT ON t TO with_nothing, with_generator, with_both;
GRANT USAGE ON SEQUENCE ids.wrapped_ids TO with_generator, with_both;
GRANT USAGE ON SCHEMA ids TO with_both;
SQL

# Whether WAL shows that COPY inserted its rows in batches.
sub copied
{
	return on(<<'SQL') =~ s/^.*\n//sr;
TRUNCATE t;
SELECT pg_current_wal_insert_lsn() AS start \gset
COPY t (n) FROM PROGRAM 'seq 3000';
SELECT CASE WHEN (SELECT count(*) FROM pg_get_wal_records_info(:'start', pg_current_wal_flush_lsn())
                  WHERE record_type LIKE 'MULTI_INSERT%') > 0 THEN 'in batches' ELSE 'row by row' END
       || CASE WHEN count(DISTINCT id) = 3000 THEN '' ELSE ', with ids repeated' END
FROM t;
SQL
}

# Name: what EXPLAIN shows, what COPY does, and what a role needs USAGE on.
my %rows = (
	by_return => 'next_id | in batches | the generator',
	by_string => 'next_id | in batches | the generator and the schema',
	with_path => 'the function | row by row | the generator',
	of_owner => 'the function | row by row | nothing',
	stable => 'the function | in batches | the generator',
	in_plpgsql => 'the function | row by row | the generator and the schema');
for my $kind (sort keys %rows)
{
	on("ALTER TABLE t ALTER id SET DEFAULT $kind()");
	my $plan = on('EXPLAIN (VERBOSE) INSERT INTO t (n) VALUES (1)');
	my $shown = $plan =~ /Output: ids\.next_id\(5, 'ids\.wrapped_ids'/ ? 'next_id' : $plan =~ /Output: $kind\(\)/ ? 'the function' : $plan;
	my $rights = join ', ', grep { error_of("SET ROLE $_; INSERT INTO t (n) VALUES (1)") eq 'none: ' } qw(with_nothing with_generator with_both);
	my $needs = { 'with_nothing, with_generator, with_both' => 'nothing', 'with_generator, with_both' => 'the generator',
		'with_both' => 'the generator and the schema' }->{$rights} // $rights;
	is("$shown | " . copied() . " | $needs", $rows{$kind}, "$kind: $rows{$kind}");
}
on(slurp_file('t/clients/grants.sql'));
is(error_of(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('Ada') RETURNING id)) =~ /^none: \d+$/, 1, 'as the page grants it');

# The trigger of a logical shard calls next_id by its name, as the role that inserts.
on('GRANT INSERT ON photos TO app; REVOKE USAGE ON SCHEMA ids FROM app');
is(error_of('SET ROLE app; INSERT INTO photos (user_id) VALUES (4007)'), '42501', 'the trigger: refused without USAGE on the schema');
on('GRANT USAGE ON SCHEMA ids TO app');
is(error_of('SET ROLE app; INSERT INTO photos (user_id) VALUES (4007)'), 'none: ', 'the trigger: not with it');
is(on('INSERT INTO photos VALUES (4032112536055721985, 4012) RETURNING id'), '4032112536055721985', 'the trigger: a row keeps its id');
is(error_of('INSERT INTO photos VALUES (4032112536055721985, 4007)'), '23514', 'the trigger: but not one of another shard');

# A function whose body is a string looks up names when it is called, by the caller's search_path; one with RETURN does
# so when it is created.
on("ALTER TABLE t ALTER id SET DEFAULT by_string(); INSERT INTO t (n) VALUES (1)");
$node->safe_psql('wrappers', 'ALTER EXTENSION shardid SET SCHEMA public');
is(error_of('INSERT INTO t (n) VALUES (1)'), '42883', 'by_string: not found once the extension is in another schema');
on('ALTER TABLE t ALTER id SET DEFAULT by_return()');
is(error_of('INSERT INTO t (n) VALUES (1)'), 'none: ', 'by_return: found');
on('ALTER EXTENSION shardid SET SCHEMA ids');

$node->stop;
done_testing();
