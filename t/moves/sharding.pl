# The blocks of docs/sharding.md, with other addresses, on an old server and a new one, whose clock is an hour behind:
# a shard that is a schema moves by a dump, a shard within tables by a row filter.
use Docs;
use ShardidTest;

$ENV{PGTZ} = 'UTC';
$ENV{PGOPTIONS} = '-c client_min_messages=warning';

my $dir = PostgreSQL::Test::Utils::tempdir();
my $conf = "autovacuum = off\nsearch_path = 'public, ids'";
my $old = new_node('old', $conf, allows_streaming => 'logical');
set_fake_clock("$dir/clock", '-1h');
my $new = with_fake_clock("$dir/clock", sub { new_node('new', $conf, allows_streaming => 'logical') });
for my $node ($old, $new)
{
	$node->safe_psql('postgres', 'CREATE DATABASE shop');
	$node->safe_psql('shop', 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids');
}

sub on { my ($node, $sql) = @_; return $node->safe_psql('shop', $sql) }
sub refused { my ($sql, $error, $name) = @_; return like(($old->psql('shop', $sql))[2], $error, $name) }
sub addressed
{
	return $_[0] =~ s/-h old\.example/'-h ' . $old->host . ' -p ' . $old->port/er
	  =~ s/-h new\.example/'-h ' . $new->host . ' -p ' . $new->port/er
	  =~ s/host=old\.example/'host=' . $old->host . ' port=' . $old->port/er;
}

sub block { return addressed(block_of('sharding.md', $_[0])) }

# Runs a block by psql, without any error or warning, and without ids in the search_path.
sub run_block
{
	my ($node, $name, %variables) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	local $ENV{PGOPTIONS} = "$ENV{PGOPTIONS} -c search_path=public";
	my $sql = block($name);
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('shop'), map { ('-v', "$_=$variables{$_}") } sort keys %variables ], '<', \$sql, '>', \$out, '2>', \$err);
	is($err, '', "$name: runs");
	return $out =~ s/\n+\z//r;
}

# --- A shard is a schema.

run_block($old, 'schemas');
on($old, q(INSERT INTO shard5.photos (user_id, name) VALUES (5, 'lighthouse'), (2005, 'harbour')));
is(on($old, 'SELECT count(*) FROM shard5.photos WHERE id_shard(id) = 5'), 2, 'a shard draws its ids');
refused(q(INSERT INTO shard5.photos (id, user_id) VALUES (3604431876116198407, 5)), qr/photos_id_check/, 'its table takes no id of another');
refused('INSERT INTO shard5.photos (user_id) VALUES (6)', qr/photos_user_id_check/, 'nor does it take the user of another');
# --- It moves by a dump, to a server whose clock is behind.

my $last = on($old, q(SELECT next_id(5, 'shard5.photos_id_seq')));
cmp_ok(on($new, 'SELECT next_id(5)'), '<', $last, 'the clock of the new server is behind');
my $rows = on($old, 'SELECT * FROM shard5.photos ORDER BY id');
my $script = block('dump_shard');
my $said = '';
IPC::Run::run([ 'sh', '-ec', "cd '$dir'\n$script" ], '>&', \$said);
unlike($said, qr/error/i, 'dump_shard: runs') or diag($said);
is(on($new, 'SELECT * FROM shard5.photos ORDER BY id'), $rows, 'its rows are there');
cmp_ok(on($new, q(INSERT INTO shard5.photos (user_id) VALUES (5) RETURNING id)), '>', $last, 'and new ones above them');
on($old, 'DROP SCHEMA shard5 CASCADE');
refused('INSERT INTO shard5.photos (user_id) VALUES (5)', qr/does not exist/, 'late writers get an error');

# --- Many shards in one table.

is(run_block($old, 'several_later'), 5, 'an INSERT passes the logical shard of its key');
refused(q(INSERT INTO orders VALUES (next_id(6), 4005)), qr/orders_check/, 'an id of another shard is refused');
on($old, 'CREATE TABLE users (id bigint PRIMARY KEY, name text)');
is(on($old, command_of('sharding.md', 'INSERT INTO users') =~ s/:shard/7/r . ' RETURNING id_shard(id)'), 7, 'a user has the shard that was chosen');
on($old, q(CREATE TABLE likes (id bigint PRIMARY KEY, photo text); INSERT INTO likes VALUES (next_id(5), 'lighthouse'), (next_id(6), 'pier')));
on($old, command_of('sharding.md', 'CREATE PUBLICATION'));
on($new, 'CREATE TABLE likes (id bigint PRIMARY KEY, photo text)');
on($new, addressed(command_of('sharding.md', 'CREATE SUBSCRIPTION')));
$new->poll_query_until('shop', command_of('sharding.md', 'SELECT bool_and')) or die 'not synchronized';
on($old, q(INSERT INTO likes SELECT next_id(5 + n % 2), n FROM generate_series(1, 200) n; UPDATE likes SET photo = photo || '!'));
my ($highest_id, $until) = split /\|/, run_block($old, 'seal');
refused(q(INSERT INTO likes VALUES (next_id(5), 'late')), qr/shard5_has_moved/, 'late writers get an error');
on($old, q(INSERT INTO likes VALUES (next_id(6), 'of a shard that stays')));
$old->poll_query_until('shop', command_of('sharding.md', 'SELECT confirmed_flush_lsn') =~ s/:'until'/'$until'/r) or die 'not arrived';
is(on($new, 'SELECT * FROM likes ORDER BY id'), on($old, 'SELECT * FROM likes WHERE id_shard(id) = 5 ORDER BY id'),
	'the rows of the shard, and no others, have arrived');
cmp_ok(on($new, 'SELECT next_id(9)'), '<', $highest_id, 'left alone the new generator would be below');
cmp_ok(run_block($new, 'take_over', highest_id => $highest_id), '>', $highest_id, 'it is raised above');
cmp_ok(on($new, q(INSERT INTO likes VALUES (next_id(5), 'here') RETURNING id)), '>', $highest_id, 'and draws there');

run_block($old, 'moved');
is(on($old, 'SELECT count(*) FILTER (WHERE id_shard(id) = 5), count(*) > 100 FROM likes'), '0|t', 'on the old server its rows are deleted, and no others');
on($old, command_of('sharding.md', 'ALTER TABLE likes DROP'));
is(on($old, 'BEGIN; INSERT INTO likes VALUES (next_id(5)); ROLLBACK; SELECT true'), 't', 'and it can come back');

# Old ids: a row filter of the key.

on($old, q(CREATE TABLE old_likes (id bigserial PRIMARY KEY, user_id bigint); INSERT INTO old_likes (user_id) VALUES (5);
CREATE PUBLICATION by_key FOR TABLE old_likes WHERE ((user_id % 2000) = 5)));
refused('UPDATE old_likes SET user_id = 2005', qr/cannot update/, 'the key in a row filter needs the replica identity');
on($old, command_of('sharding.md', 'ALTER TABLE likes REPLICA') =~ s/likes/old_likes/r . '; UPDATE old_likes SET user_id = 2005');

# --- One table over both servers: new rows of shard 6 are on the old one.

my ($by, $by_both) = map { command_of('sharding.md', $_) } 'LIST', 'id = $1';
on($old, "CREATE EXTENSION postgres_fdw; CREATE TABLE everywhere (id bigint DEFAULT next_id(6), photo text) PARTITION BY $by; ALTER TABLE likes ALTER photo SET DEFAULT 'none'");
my %server_of = (5 => $new, 6 => $old);
on($old, sprintf <<'SQL', $server_of{$_}->host, $server_of{$_}->port, $_) for 5, 6;
CREATE SERVER of_shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname 'shop');
CREATE USER MAPPING FOR CURRENT_USER SERVER of_shard;
CREATE FOREIGN TABLE likes_%s PARTITION OF everywhere FOR VALUES IN (%3$s) SERVER of_shard OPTIONS (table_name 'likes');
ALTER SERVER of_shard RENAME TO of_shard_%3$s;
SQL
my $one = on($old, "INSERT INTO everywhere (photo) VALUES ('far') RETURNING id");
is(on($old, "SELECT photo FROM ONLY likes WHERE id = $one"), 'far', 'a row goes to the server of its id');
my $plan_of = sub { return on($old, 'EXPLAIN SELECT FROM everywhere WHERE ' . $_[0] =~ s/\$1/$one/gr) };
is(() = $plan_of->($_->[1]) =~ /Foreign Scan/g, $_->[0], "$_->[1] asks $_->[0]") for [ 1, $by_both ], [ 2, 'id = $1' ];
is(on($old, 'INSERT INTO everywhere DEFAULT VALUES RETURNING photo IS NULL'), 't', "the server's default is not used");

$_->stop for $new, $old;
done_testing();
