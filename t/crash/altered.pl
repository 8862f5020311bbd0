# However a generator's page has come about, an id is flushed before a client receives it, and is not generated again
# if the server crashes at once and its clock is then an hour back: new, altered, moved, raised, rolled back, or copied
# with its database. The page keeps its layout. Nor is a value of nextval_range.
use Clocked;
use ShardidTest;

# No other process must help: each call must flush by itself.
start_clocked(<<'CONF');
wal_writer_delay = 10s
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
wal_log_hints = on
max_prepared_transactions = 1
CONF

# Generates an id by $call, or takes a range, in a transaction that is rolled back, and tests that all WAL is flushed before;
# the position can be further by the header of the page in which the next record begins.
# It is asked before, too: in PostgreSQL 19 the first read of a catalog's page can write WAL.
my $is_flushed = 'pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn() <= 40';
my @returned;

sub one_id
{
	my ($what, $generator, %params) = @_;
	my $database = $params{database} // 'postgres';
	my ($again, $call) = $params{is_range}
	  ? ("first FROM nextval_range('$generator', 1)", "last FROM nextval_range('$generator', 5)")
	  : ("next_id(5, '$generator')") x 2;
	$call = $params{call} // $call;
	my ($id, $answer) = (split /\n/, query(<<"SQL", $database))[ -2, -1 ];
@{[ $params{first} // '' ]};
BEGIN;
@{[ $params{before} // '' ]};
SELECT $is_flushed;
SELECT $call;
SELECT $is_flushed;
ROLLBACK;
SQL
	is($answer, 't', "one id after $what: flushed");
	push @returned, [ $what, $again, $id, $database ];
	return;
}

# Each id comes at once, before the second has passed that is logged ahead. No checkpoint comes between it and the crash,
# since that writes all pages. CREATE DATABASE ... TEMPLATE copies the page with its count of values logged ahead. In the
# copy nextval trusts the count, and next_id must not. file_copy writes a checkpoint.
my $hour_ahead = q(id_lower_bound(clock_timestamp() + interval '1 hour'));
my $ahead = "SELECT setval('GEN', $hour_ahead >> 23 << 10); SELECT next_id(5, 'GEN')";
query("CREATE SEQUENCE $_") for qw(one many raised bound ranged counted ahead imaged imaged_range);
query($ahead =~ s/GEN/imaged/gr);

# On sequences whose rows were locked by PostgreSQL 9.0 or earlier, core corrects a hint at the next look at one, and logs its
# page for it.
query('CREATE EXTENSION pageinspect');
my @imaged = qw(imaged imaged_range);
my @rows = map { query("SELECT pg_relation_filepath('$_'), lp_off FROM heap_page_items(get_raw_page('$_', 0))") } @imaged;
$node->stop;
run_log([ 'pg_checksums', '--disable', '-D', $node->data_dir ]);
for (@rows)
{
	my ($file, $row) = split /\|/;
	open my $page, '+<:raw', $node->data_dir . "/$file" or die;
	sysseek $page, $row + 4, 0;
	syswrite $page, pack('L', 3);
	close $page;
}
restart_at('+0');
query('CREATE DATABASE origin');
query(q{CREATE EXTENSION shardid; CREATE SEQUENCE plain; CREATE SEQUENCE q; SELECT nextval('plain'), next_id(5), nextval_range('q', 5)}, 'origin');
query('CREATE DATABASE file_copy TEMPLATE origin STRATEGY file_copy');
query(<<'SQL');
SELECT count(next_id(5, 'many')) FROM generate_series(1, 5000);
CHECKPOINT;
SELECT next_id(5, 'many'), next_id(5, 'one'), next_id(5, 'raised'), nextval_range('ranged', 20), nextval('counted');
SELECT next_id(5, 'imaged'), nextval_range('imaged_range', 20);
CHECKPOINT;
SQL
one_id('ALTER rolled back after a checkpoint', 'written', first => q{CREATE SEQUENCE written; SELECT next_id(5, 'written')},
	before => q{ALTER SEQUENCE written CACHE 2; SELECT next_id(5, 'written'); CHECKPOINT});
one_id('an id and a checkpoint', 'one');
one_id('an id ahead of the clock and a checkpoint', 'ahead', first => ($ahead =~ s/GEN/ahead/gr) . '; CHECKPOINT');
for (@imaged)
{
	my $lsn = "SELECT lsn FROM page_header(get_raw_page('$_', 0))";
	my ($before, $after) = split /\n/, query("$lsn; SELECT pg_sequence_last_value('$_') \\g /dev/null\n$lsn");
	isnt($after, $before, "$_: an image of the page is logged");
	is(query("SELECT logged_to = last_ts FROM id_generator_status('$_')"), 't', 'which has its last value only') unless /range/;
	one_id("an image of the page of $_", $_, is_range => /range/);
}
one_id('ids and two checkpoints', 'many');
one_id('a range and a checkpoint', 'ranged', is_range => 1);
one_id('nextval and a checkpoint', 'counted', is_range => 1);
one_id('raise_generator', 'raised', call => "raise_generator('raised', $hour_ahead)");
one_id('a copy by file_copy', 'shardid_seq', database => 'file_copy');
query(q{SELECT nextval('plain'), next_id(5), nextval_range('q', 5)}, 'origin');
query('CREATE DATABASE wal_log TEMPLATE origin STRATEGY wal_log');
one_id('a copy by wal_log', 'shardid_seq', database => 'wal_log');
one_id('a range and a copy by wal_log', 'q', database => 'wal_log', is_range => 1);
my $plain = query(q{SELECT nextval('plain')}, 'wal_log');

my @ways = (
	[ 'CREATE SEQUENCE' => '' ],
	[ 'ALTER SEQUENCE' => q{SELECT next_id(5, 'g'); ALTER SEQUENCE g MAXVALUE 9000000000000000000} ],
	[ 'SET UNLOGGED and SET LOGGED' => q{SELECT next_id(5, 'g'); ALTER SEQUENCE g SET UNLOGGED; ALTER SEQUENCE g SET LOGGED} ],
	[ 'SET LOGGED with values logged ahead' => q{ALTER SEQUENCE g SET UNLOGGED; SELECT nextval('g'); ALTER SEQUENCE g SET LOGGED} ],
	[ 'RESTART' => 'ALTER SEQUENCE g RESTART' ],
	[ 'setval' => q{SELECT setval('g', 1000)} ],
	[ 'setval, not called' => q{SELECT setval('g', 1000, false)} ],
	[ 'setval ahead of the clock' => ($ahead =~ s/GEN/g/gr) . q{; SELECT setval('g', last_value) FROM g} ],
	[ 'nextval' => q{SELECT next_id(5, 'g'); SELECT nextval('g')} ],
	[ 'nextval in steps' => q{ALTER SEQUENCE g INCREMENT 7 CACHE 3; SELECT next_id(5, 'g'); SELECT nextval('g')} ]);
for my $n (0 .. $#ways)
{
	my ($what, $statements) = @{ $ways[$n] };
	for my $schema ("way_$n", "range_$n")
	{
		my $is_range = $schema =~ /^range/;
		$statements =~ s/next_id\(5, 'g'\)/nextval_range('g', 20)/ if $is_range;
		one_id($is_range ? "a range and $what" : $what, "$schema.g", is_range => $is_range,
			first => "CREATE SCHEMA $schema; CREATE SEQUENCE $schema.g; SET search_path = $schema, public; $statements");
	}
}

# The layout of the first id, or of the first raise, is in WAL, also after a checkpoint.
query("CREATE SEQUENCE $_") for qw(new raised_first);
query("SELECT next_id(5, '$_', shard_bits => 12)") for qw(new bound);
one_id('raise_generator of a fresh sequence', 'raised_first', call => "raise_generator('raised_first', $hour_ahead, shard_bits => 13)");

query('CREATE SEQUENCE in_prepared');
push @returned, [ 'PREPARE TRANSACTION', q(next_id(5, 'in_prepared')), query(q{BEGIN; SELECT next_id(5, 'in_prepared'); PREPARE TRANSACTION 'q'}), 'postgres' ];

# A rollback, or a crash, restores the old storage of an altered generator, which knows the ids of the new storage.
query('CREATE SEQUENCE rolled_back');
query("CREATE SEQUENCE $_; SELECT next_id(5, '$_')") for qw(moved_back in_flight);
one_id('ALTER rolled back', 'rolled_back', before => 'ALTER SEQUENCE rolled_back CACHE 2');
one_id('setval between two ALTER rolled back', 'moved_back', before => q{SAVEPOINT a; ALTER SEQUENCE moved_back CACHE 2; SELECT next_id(5, 'moved_back');
ROLLBACK TO a; SELECT setval('moved_back', 1); ALTER SEQUENCE moved_back CACHE 3});
# A committed position that is ahead of the clock is above all that is drawn meanwhile, and stays.
query("CREATE SEQUENCE $_") for qw(set restarted);
my $position = query("SELECT $hour_ahead >> 23 << 10");
query("SELECT setval('set', $position, false)");
query(<<"SQL");
BEGIN;
ALTER SEQUENCE set RESTART;
SELECT next_id(5, 'set');
ROLLBACK;
BEGIN;
ALTER SEQUENCE restarted RESTART WITH $position;
SAVEPOINT a;
ALTER SEQUENCE restarted RESTART WITH 1;
SELECT next_id(5, 'restarted');
ROLLBACK TO a;
COMMIT;
SQL

my $in_flight = start_clients($node, 1,
	[ 'BEGIN', 'ALTER SEQUENCE in_flight CACHE 2', q{SELECT next_id(5, 'in_flight')}, 'SELECT pg_sleep(3600)' ]);
$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'))
  or die 'the id was not generated';
crash('-1h');
finish_clients($in_flight);
my ($of_open) = @{ read_told($in_flight)->[0] };
ok($of_open, 'an id was returned in a transaction that had altered its generator and was open');
push @returned, [ 'ALTER in an open transaction', q(next_id(5, 'in_flight')), $of_open, 'postgres' ];
cmp_ok(query("SELECT last_value FROM $_"), '>=', $position, "$_: after the crash no lower than it was committed") for qw(set restarted);
for my $database (qw(postgres file_copy wal_log))
{
	my @its = grep { $_->[3] eq $database } @returned;
	my @next = split /\n/, query(join(';', map { "SELECT $_->[1]" } @its), $database);
	cmp_ok(shift @next, '>', $_->[2], "one id after $_->[0]: after the crash the next is above it") for @its;
}
for my $generator (qw(new bound))
{
	like(error_on($node, "SELECT next_id(5, '$generator', shard_bits => 13)"), qr/^55000/, "$generator: another layout is refused after the crash");
	like($node->safe_psql('postgres', "SELECT next_id(5, '$generator', shard_bits => 12)"), qr/^\d+$/, 'and its own continues');
}
like(error_on($node, q(SET lock_timeout = '20ms'; ALTER SEQUENCE in_prepared RESTART)),
	qr/^55P03/, 'a prepared transaction keeps the lock of its draw, also over a crash');
query(q(COMMIT PREPARED 'q'));
query('ALTER SEQUENCE in_prepared RESTART');

# Of SET LOGGED a rollback, or a crash, restores unlogged storage, which knows nothing after a crash.
my %sequence_of = ('uuid_v1()' => 'shardid_uuid_seq', 'objectid()' => 'shardid_objectid_seq');
query('CREATE UNLOGGED SEQUENCE logged');
for my $call ("next_id(5, 'logged')", "next_ids(5, 2, 'logged')", "raise_generator('logged', 0)", sort keys %sequence_of)
{
	my $sequence = $sequence_of{$call} // 'logged';
	query("ALTER SEQUENCE $sequence SET UNLOGGED");
	my $set_logged = "ALTER SEQUENCE $sequence SET LOGGED";
	like(error_on($node, "BEGIN; $set_logged; SELECT $call"), qr/^55000: cannot generate ids .* made it logged/, "$call after SET LOGGED");
	like(error_on($node, "$set_logged; SELECT $call"), qr/^none/, "$call after its commit");
}
my $then = q(ALTER SEQUENCE u SET LOGGED; SELECT next_id(5, 'u'));
like(error_on($node, "BEGIN; CREATE UNLOGGED SEQUENCE u; SAVEPOINT a; $then"), qr/^55000/, 'after a savepoint');
like(error_on($node, "BEGIN; CREATE UNLOGGED SEQUENCE u; $then"), qr/^none/, 'where a rollback leaves no sequence');

cmp_ok(query(q{SELECT nextval('plain')}, 'wal_log'), '<=', $plain, 'nextval repeats in the copy by wal_log: the test can detect it');

$node->stop;
done_testing();
