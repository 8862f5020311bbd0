# Each remedy of docs/operations.md for a clock that was set forward does what the page says. The clock is 40 days
# ahead and right again; each is run in a copy of the database, whose ids of the future are still there.
use Docs;
use ShardidTest;

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
my $days = 86400;
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('forward', "autovacuum = off\nsearch_path = 'public, ids'"); });
$node->safe_psql('postgres', 'CREATE DATABASE jumped; ALTER DATABASE jumped SET shardid.shard_id = 5');
my $insert = "INSERT INTO photos (name) SELECT '%s' FROM generate_series(1, 2000)";
my $make_others = "INSERT INTO others SELECT '%s', uuid_v1(), objectid() FROM generate_series(1, 100)";
$node->safe_psql('jumped', <<'SQL');
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(), name text);
CREATE TABLE likes (photo bigint REFERENCES photos ON UPDATE CASCADE);
CREATE TABLE others (name text, u uuid UNIQUE, o bytea UNIQUE);
CREATE SEQUENCE ids.order_ids CACHE 2;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id('ids.order_ids'::regclass));
CREATE TABLE parcels (LIKE orders INCLUDING ALL);
INSERT INTO orders DEFAULT VALUES;
CREATE EXTENSION shardid_readers;
SELECT shardid_readers.add_reader('mailer', 'orders', 0), shardid_readers.add_reader('packer', 'parcels', 0);
CREATE ROLE planter;
GRANT INSERT ON shardid_readers.own_reader TO planter;
SET ROLE planter;
INSERT INTO shardid_readers.own_reader SELECT name, 'planter', 'orders', 0, 2, 1, -1 FROM unnest('{mailer,packer}'::text[]) name;
SQL
sub insert_rows
{
	my ($dbname, $name) = @_;
	return $node->psql($dbname, sprintf("$insert; $make_others", $name, $name));
}
insert_rows('jumped', 'before');
set_fake_clock($clock, '+' . 40 * $days);
insert_rows('jumped', 'future');
# A reader alone has moved the generator of orders to the clock of then.
$node->safe_psql('jumped', q(SELECT FROM shardid_readers.next_rows('mailer', NULL::orders)));
$node->safe_psql('jumped', 'INSERT INTO likes SELECT id FROM photos');
set_fake_clock($clock, '+0');

# The database after the jump, in a new copy.
sub jump
{
	return $node->safe_psql('postgres',
		'DROP DATABASE IF EXISTS shop; CREATE DATABASE shop TEMPLATE jumped; ALTER DATABASE shop SET shardid.shard_id = 5');
}
sub shop { return $node->safe_psql('shop', $_[0]) }
sub remedy { return $node->safe_psql('shop', block_of('operations.md', $_[0]), extra_params => $_[1] // []) }
my $restart = command_of('operations.md', 'ALTER SEQUENCE ids.shardid_seq RESTART');

# By how many days each of these rows' ids is ahead of the clock; nothing if there are none.
sub days_ahead
{
	return shop("SELECT DISTINCT round(extract(epoch FROM id_timestamp(id) - clock_timestamp()) / $days) FROM photos WHERE name = '$_[0]'");
}

jump();
my $refused = ($node->psql('shop', sprintf $insert, 'refused'))[2];
like($refused, qr/generator "ids\.shardid_seq" is too far ahead of the clock\nDETAIL:  It is 345\d{7} ms ahead, and shardid\.max_lead is 86400000 ms\./,
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
shop(command_of('operations.md', 'SELECT ids.renew_identity()'));
is((insert_rows('shop', 'again'))[0], 0, 'then UUIDs are made again');
# Readers, whose position is in the future.
shop(block_of('operations.md', 'readers_back'));
my $order = shop('INSERT INTO orders DEFAULT VALUES RETURNING id; SELECT pg_sleep(0.002)') + 0;
is(shop(q(SELECT string_agg(id::text, ' ') FROM shardid_readers.next_rows('mailer', NULL::orders))), $order, 'readers get the new row, and no other');
is(shop(q(SELECT position FROM shardid_readers.status WHERE name = 'packer' AND share = 0)), 0, 'a reader of another table is where it was');
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
set_fake_clock($clock, '+0');

# C
jump();
remedy('replace');
is(days_ahead('future'), 0, 'replace: the rows of the future say the true time');
is(remedy('future_rows'), '', 'none is left');
is(shop('SELECT count(*) FROM likes JOIN photos ON id = photo'), 4000, 'and what refers to them follows');
shop(sprintf $insert, 'after');
is(days_ahead('after'), 0, 'so do new ones');

# D. The owner of the database, no superuser, may restart the generator, and not do what must be done before.
jump();
shop('CREATE ROLE clerk LOGIN; ALTER DATABASE shop OWNER TO clerk; GRANT ALL ON SCHEMA ids TO clerk');
my $position = shop('SELECT last_value FROM ids.shardid_seq');
$node->psql('shop', block_of('operations.md', 'other_shard'), extra_params => [ '-U', 'clerk' ], on_error_stop => 0);
is(shop('SELECT last_value FROM ids.shardid_seq'), $position, 'another shard: nothing is restarted after an error');
# A session with the old number is ended, whatever its settings are.
shop('ALTER DATABASE shop SET plpgsql.check_asserts = off');
my $old = open_session($node->connstr('shop'));
my $pid = ask_safe($old, 'SELECT pg_backend_pid();');
remedy('other_shard');
is(shop("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid"), 0, 'another shard: sessions with the old number are ended');
shop(sprintf $insert, 'after');
is(days_ahead('after'), 0, 'and the true time');
set_fake_clock($clock, '+' . 40 * $days);
shop(sprintf $insert, 'met');
is(shop('SELECT count(DISTINCT id) FROM photos'), 8000, 'and no id twice when the time has come');
set_fake_clock($clock, '+0');

$node->stop;
done_testing();
