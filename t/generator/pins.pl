# Sessions that use many generators keep some of their pages pinned until their transactions end, but no more than their
# share of the buffer pool, so that all can read other pages; with so few buffers as a server can have, none.
use ShardidTest;

my $node = new_node('pins', "autovacuum = off\nshared_buffers = 128kB\nmax_prepared_transactions = 1\nbgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h");
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION dblink;
CREATE EXTENSION pg_buffercache;
SELECT format('CREATE SEQUENCE many_%s', i) FROM generate_series(0, 7) i \gexec
CREATE VIEW pins AS
SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache b JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid)
WHERE c.relkind = 'S';
SQL

# The pages that six sessions in transactions keep pinned.
sub pins
{
	my $connection = $node->connstr('postgres');
	my ($code, $stdout, $stderr) = $node->psql('postgres', <<SQL);
SELECT count(dblink_connect(format('s%s', i), \$\$$connection\$\$)), count(dblink_exec(format('s%s', i), 'BEGIN'))
FROM generate_series(1, 6) i;
SELECT count(*) FROM generate_series(1, 6) i, dblink(format('s%s', i),
    'SELECT count(next_id(5, format(''many_%s'', i % 8)::regclass)) FROM generate_series(0, 23) i') AS drawn (count bigint);
SELECT count(*) > 0 FROM pg_class, pg_attribute WHERE attrelid = pg_class.oid;
TABLE pins;
SELECT count(dblink_exec(format('s%s', i), 'ROLLBACK')) FROM generate_series(1, 6) i;
TABLE pins;
SQL
	is($stderr, '', 'six sessions with eight generators each');
	my (undef, undef, undef, $kept, undef, $after) = split /\n/, $stdout;
	is($after, 0, 'no page is pinned when the transactions have ended');
	return $kept;
}

is(pins(), 0, 'in 16 buffers they keep no page pinned');
$node->append_conf('postgresql.conf', 'shared_buffers = 2MB');
$node->restart;
my $pins = pins();
cmp_ok($pins, '>=', 6, "in 256 they keep $pins, some of each");
cmp_ok($pins, '<=', 256 * 6 / 52, 'no more than their share of the pool');

# A page that is pinned is released before its generator gets new storage, or none.
my (undef, $stdout, $stderr) = $node->psql('postgres', <<'SQL');
BEGIN;
SELECT count(next_id(5, format('many_%s', i % 4)::regclass)) = 16 FROM generate_series(1, 16) i;
SAVEPOINT a;
ALTER SEQUENCE many_1 CACHE 5;
DROP SEQUENCE many_2;
SELECT FROM next_id(5, 'many_1');
ROLLBACK TO a;
SELECT next_id(5, 'many_1') > 0 AND next_id(5, 'many_2') > 0;
DROP SEQUENCE many_3;
PREPARE TRANSACTION 'with pins';
COMMIT PREPARED 'with pins';
TABLE pins;
SQL
is("$stdout$stderr", "t\nt\n0", 'ALTER and DROP of generators whose pages are pinned, rolled back, and PREPARE');
$node->stop;
done_testing();
