# What needs a server of its own and fits nowhere else: a crash after a rollback to a savepoint, a buffer
# pool that is small for its sessions, and what docs/operations.md says of a clock
# that was set forward and of settings, and the casts that docs/reference.md shows.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Docs;
use ShardidTest;

my $node = new_node('smaller', "autovacuum = off\nmax_prepared_transactions = 2\nwal_level = replica");
sub query { return $node->safe_psql('postgres', $_[0]) }

# Storage that was made in the transaction comes back by a rollback to a savepoint, and is told at the end
# what was drawn. The generator is an hour ahead of the clock, so that only its memory keeps ids apart.
query('CREATE SEQUENCE g');
query("SELECT setval('g', id_lower_bound(clock_timestamp() + interval '1 hour') >> 23 << 10)");
my $brought_back = <<'SQL';
BEGIN;
ALTER SEQUENCE g CACHE 2;
SAVEPOINT a;
ALTER SEQUENCE g CACHE 3;
SELECT max(next_id(5, 'g')) FROM generate_series(1, 3000);
ROLLBACK TO a;
SQL
my %ends = (
	'COMMIT' => 'COMMIT',
	'PREPARE TRANSACTION' => "PREPARE TRANSACTION 'altered'; COMMIT PREPARED 'altered'",
	'ROLLBACK' => 'ROLLBACK');
for my $end (sort keys %ends)
{
	query('CHECKPOINT');
	my $last = query("$brought_back; $ends{$end}");
	kill_node($node);
	start_again($node);
	cmp_ok(query("SELECT next_id(5, 'g')"), '>', $last, "$end and a crash: it goes on above what was drawn");
}

$node->stop;

# Many sessions in a small buffer pool: what each keeps pinned is no more than its share, so that all find
# room for what else they read.
sub keep_pins
{
	my ($buffers, $sessions) = @_;
	my $small = new_node("buffers_$buffers", "autovacuum = off\nshared_buffers = $buffers");
	my $connection = $small->connstr('postgres');
	my ($code, $stdout, $stderr) = $small->psql('postgres', <<SQL);
CREATE EXTENSION dblink;
CREATE EXTENSION pg_buffercache;
SELECT format('CREATE SEQUENCE many_%s', i) FROM generate_series(0, 7) i \\gexec
SELECT count(dblink_connect(format('s%s', i), \$\$$connection\$\$)), count(dblink_exec(format('s%s', i), 'BEGIN'))
FROM generate_series(1, $sessions) i;
SELECT count(*) FROM generate_series(1, $sessions) i, dblink(format('s%s', i),
    'SELECT count(next_id(5, format(''many_%s'', i % 8)::regclass)) FROM generate_series(0, 23) i') AS drawn (count bigint);
SELECT count(*) > 0 FROM pg_class, pg_attribute WHERE attrelid = pg_class.oid;
SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache b JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid)
WHERE c.relkind = 'S';
SQL
	$small->stop;
	return ($stderr, (split /\n/, $stdout)[-1]);
}
my ($complaints, $pins) = keep_pins('128kB', 6);
is($complaints, '', 'six sessions with eight generators each in 16 buffers');
is($pins, 0, 'keep no page pinned');
($complaints, $pins) = keep_pins('2MB', 6);
is($complaints, '', 'and in 256 buffers');
cmp_ok($pins, '>=', 6, "keep $pins, some of each");
cmp_ok($pins, '<=', 256 * 6 / 52, 'no more than their share of the pool');

# The clock is 40 days ahead and right again; then each remedy is run as the page shows it, in a copy of the
# database, whose ids of the future are still there.
my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
my $days = 86400;
set_fake_clock($clock, '+0');
with_fake_clock($clock, sub { $node = new_node('forward', 'autovacuum = off'); });
query('CREATE DATABASE jumped');
query('ALTER DATABASE jumped SET shardid.shard_id = 5');
my $insert = "INSERT INTO photos (name) SELECT '%s' FROM generate_series(1, 2000)";
my $make_others = "INSERT INTO others SELECT '%s', uuid_v1(), objectid() FROM generate_series(1, 100)";
$node->safe_psql('jumped', <<'SQL');
CREATE EXTENSION shardid;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(), name text);
CREATE TABLE likes (photo bigint REFERENCES photos ON UPDATE CASCADE);
CREATE TABLE others (name text, u uuid UNIQUE, o bytea UNIQUE);
SQL
sub insert_rows
{
	my ($dbname, $name) = @_;
	return $node->psql($dbname, sprintf("$insert; $make_others", $name, $name));
}
insert_rows('jumped', 'before');
set_fake_clock($clock, '+' . 40 * $days);
insert_rows('jumped', 'future');
$node->safe_psql('jumped', 'INSERT INTO likes SELECT id FROM photos');
set_fake_clock($clock, '+0');

# The database after the jump, in a new copy.
sub jump
{
	query('DROP DATABASE IF EXISTS shop');
	query('CREATE DATABASE shop TEMPLATE jumped');
	query('ALTER DATABASE shop SET shardid.shard_id = 5');
	return;
}
sub shop { return $node->safe_psql('shop', $_[0]) }
sub remedy { return $node->safe_psql('shop', block_of('operations.md', $_[0]), extra_params => $_[1] // []) }
my $restart = command_of('operations.md', 'ALTER SEQUENCE shardid_seq RESTART');

# By how many days each of these rows' ids is ahead of the clock; nothing if there are none.
sub days_ahead
{
	return shop("SELECT DISTINCT round(extract(epoch FROM id_timestamp(id) - clock_timestamp()) / $days) FROM photos WHERE name = '$_[0]'");
}

jump();
my $refused = ($node->psql('shop', sprintf $insert, 'refused'))[2];
like($refused, qr/generator "public\.shardid_seq" is too far ahead of the clock\nDETAIL:  It is 345\d{7} ms ahead, and shardid\.max_lead is 86400000 ms\./,
	'after a jump of 40 days: refused');
my @future = map { (split /\|/)[0] } split /\n/, remedy('future_rows');
is(scalar @future, 2000, 'the rows of the future');
is(shop("SELECT count(*) FROM photos WHERE name = 'future' AND id IN ($future[0], $future[-1])"), 2, 'are those');

# A
shop("DELETE FROM likes; DELETE FROM photos WHERE name = 'future'");
shop($restart);
is((insert_rows('shop', 'after'))[0], 3, 'forget: UUIDs are refused');
is(days_ahead('after'), 0, 'ids say the true time');
shop($restart =~ s/shardid_seq/shardid_${_}_seq/r) for 'uuid', 'objectid';
shop(command_of('operations.md', 'SELECT renew_identity()'));
is((insert_rows('shop', 'again'))[0], 0, 'then UUIDs are made again');
is(shop('SELECT count(*), count(DISTINCT uuid_v1_node(u)) FROM others'), '300|2', 'with another node');
is( shop("SELECT count(*) FROM others WHERE name = 'again' AND uuid_v1_timestamp(u) > clock_timestamp()"),
	0, 'and the true time');

# B
jump();
shop(command_of('operations.md', 'ALTER DATABASE shop SET shardid.max_lead'));
is((insert_rows('shop', 'after'))[0], 0, 'go on: both are made');
is(days_ahead('after'), 40, 'ids say a time of the future');
cmp_ok(shop("SELECT min(id) FROM photos WHERE name = 'after'"), '>', $future[-1], 'and are later than all');
set_fake_clock($clock, '+' . 41 * $days);
shop(command_of('operations.md', 'ALTER DATABASE shop RESET'));
is((insert_rows('shop', 'later'))[0], 0, 'when the clock has caught up they go on');
is(days_ahead('later'), 0, 'with the true time');
is(shop("LOAD 'shardid'; SHOW shardid.max_lead"), '1d', 'and the setting as it was');
set_fake_clock($clock, '+0');

# C
jump();
remedy('replace');
is(days_ahead('future'), 0, 'replace: the rows of the future say the true time');
is(remedy('future_rows'), '', 'none is left');
is(shop('SELECT count(*) FROM likes JOIN photos ON id = photo'), 4000, 'and what refers to them follows');
shop(sprintf $insert, 'after');
is(days_ahead('after'), 0, 'so do new ones');

# D
jump();
remedy('other_shard');
shop(sprintf $insert, 'after');
is(days_ahead('after'), 0, 'another shard: the true time');
set_fake_clock($clock, '+' . 40 * $days);
shop(sprintf $insert, 'met');
is(shop('SELECT count(DISTINCT id) FROM photos'), 8000, 'and no id twice when the time has come');
set_fake_clock($clock, '+0');

# E
jump();
shop($restart);
shop(sprintf $insert, 'after');
is(days_ahead('after'), 0, 'leave out: the true time');
my $early = ($node->psql('shop', block_of('operations.md', 'raise'), extra_params => [ '-v', "highest_id=$future[-1]" ]))[2];
like($early, qr/id is too far ahead of the clock/, 'it is too early to raise the generator');
set_fake_clock($clock, '+' . (40 * $days - 3600));
remedy('raise', [ '-v', "highest_id=$future[-1]" ]);
shop(sprintf $insert, 'met');
cmp_ok(shop("SELECT min(id) FROM photos WHERE name = 'met'"), '>', $future[-1], 'an hour before, it is raised above them');
$node->stop;

# Settings: what next_id() without a shard says to do, and what the page says of who may do what, works.
$node = new_node('settings');
query('CREATE ROLE shop_owner LOGIN; CREATE DATABASE shop OWNER shop_owner');
shop('CREATE EXTENSION shardid');
sub as_owner { return $node->psql('shop', $_[0], extra_params => [ '-U', 'shop_owner' ]) }

my $drawn = 'SELECT id_shard(next_id());';
my ($hint) = (as_owner($drawn))[2] =~ /HINT:  (.*)/;
my ($for_session, $for_database) = $hint =~ /\b(SET shardid\.shard_id = )\.\.\..*\b(ALTER DATABASE shop SET shardid\.shard_id = )\.\.\./;
is((as_owner("$for_session 7; $drawn"))[1], 7, "the hint's SET works: $hint");
my @answer = as_owner("\\set ON_ERROR_STOP 0\n$drawn\n$for_database 8; $for_session 7; $drawn");
is($answer[1], 7, 'and its ALTER DATABASE, beside it in a session that next_id() has refused');
is((as_owner($drawn))[1], 8, 'which shows in the next one');
query('ALTER DATABASE shop RESET ALL');

# In a session that has not used the extension.
my $shard_id = 'ALTER DATABASE shop SET shardid.shard_id = 5';
my $max_lead = "ALTER DATABASE shop SET shardid.max_lead = '40d'";
like((as_owner($shard_id))[2], qr/permission denied to set parameter/, 'the owner is refused');
my $system = 'ALTER SYSTEM SET shardid.shard_id = 5';
sub sqlstate_of { return $_[0] =~ /ERROR:\s+(\w+)/ ? $1 : 'works' }
my %before_loading = map { my ($as, $sql) = @$_; ("$as->[0]: $sql" => sqlstate_of(($as->[1]->("\\set VERBOSITY sqlstate\n$sql"))[2])) }
  map { my $as = $_; map { [ $as, $_ ] } $system, 'SHOW shardid.shard_id', $shard_id, 'ALTER ROLE shop_owner SET shardid.shard_id = 5' }
  [ owner => \&as_owner ], [ superuser => sub { $node->psql('shop', $_[0]) } ];
my $unknown = query('SHOW server_version_num') < 170000 ? '42704' : 'works';
is_deeply(
	\%before_loading,
	{
		"owner: $shard_id" => '42501', 'owner: ALTER ROLE shop_owner SET shardid.shard_id = 5' => '42501',
		"owner: $system" => '42501', 'owner: SHOW shardid.shard_id' => '42704',
		"superuser: $shard_id" => 'works', 'superuser: ALTER ROLE shop_owner SET shardid.shard_id = 5' => 'works',
		"superuser: $system" => $unknown, 'superuser: SHOW shardid.shard_id' => '42704' },
	'before the library is loaded, as the page says');
query('ALTER DATABASE shop RESET ALL; ALTER ROLE shop_owner RESET ALL');
query('ALTER SYSTEM RESET ALL');
is((as_owner(command_of('operations.md', 'SELECT id_shard(') . "; $shard_id"))[0], 0, 'unless the session has used the extension');
is((as_owner($drawn))[1], 5, 'which shows');
like((as_owner("SELECT id_shard(0); $max_lead"))[2], qr/permission denied to set parameter "shardid.max_lead"/, 'max_lead is the superuser\'s');
query(block_of('operations.md', 'grant'));
is((as_owner("$shard_id; $max_lead"))[0], 0, 'with GRANT SET the owner may set both in any session');
is((as_owner("$drawn SHOW shardid.max_lead"))[1], "5\n40d", 'which shows');
query('ALTER DATABASE shop RESET ALL');
is((as_owner($drawn))[0], 3, 'no shard is set again');
query(block_of('operations.md', 'system'));
$node->poll_query_until('shop', 'SELECT id_shard(next_id())', '5');
is((as_owner($drawn))[1], 5, 'ALTER SYSTEM by a superuser, who loads the extension, holds for all');

# What docs/reference.md says to write where the two next_id() are not told apart.
shop('CREATE SEQUENCE photos_id_seq; CREATE TABLE users AS SELECT 4005::bigint AS user_id');
for my $unclear ("SELECT next_id('photos_id_seq')", 'SELECT next_id(NULL)', 'PREPARE draw AS SELECT next_id($1)')
{
	like(($node->psql('shop', $unclear))[2], qr/ERROR:  function next_id\(unknown\) is not unique/, "$unclear: not unique");
}
like(($node->psql('shop', 'SELECT next_id(user_id % 2000) FROM users'))[2],
	qr/ERROR:  sequence with OID 5 does not exist\nHINT:  .*cast to integer/, 'a bigint is taken for a generator');
my $overloads = <<'SQL';
SELECT next_id(generator => 'photos_id_seq');
SELECT next_id('photos_id_seq'::regclass);
SELECT next_id(NULL::int);
PREPARE draw AS SELECT next_id($1::int);
SELECT next_id((user_id % 2000)::int) FROM users;
SQL
my @ids = split /\n/, shop("$overloads; EXECUTE draw(7)"), -1;
is(shop('SELECT is_called FROM photos_id_seq'), 't', 'the generator that is named is drawn from');
is(shop('SELECT ' . join ', ', map { $_ ? "id_shard($_)" : "'NULL'" } @ids), '5|5|NULL|5|7', 'and the shards are right');
$node->stop;
done_testing();
