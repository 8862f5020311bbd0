# The queries in examples/monitoring/sql_exporter.yml return right values, and the role of role.sql can run them: for
# generators of any layout, leases, the SQL-only version. promtool tests alerts; make example NAME=monitoring shows each.
use Docs;
use JSON::PP;
use Leases 'registry_here';
use Portable;
use ShardidTest;

my $folder = 'examples/monitoring';
my %text = map { m{([^/]+)$} => slurp_file($_) } glob "$folder/*";
my ($generators, $leases) = $text{'sql_exporter.yml'} =~ /query: \|\n((?: {10}.*\n)+)/g;
my $node = new_node('monitored', "search_path = 'public, ids'\n");
$node->safe_psql('postgres', $_) for 'CREATE DATABASE shop', 'ALTER DATABASE shop SET shardid.shard_id = 7';
sub query { return $node->safe_psql('shop', $_[0]) }

# The rows of a query by their generator, as the monitoring role.
sub measured
{
	my ($sql, $database) = @_;
	my ($code, $out, $err) = $node->psql($database // 'shop', "SELECT coalesce(json_object_agg(q.generator, q), '{}') FROM ($sql) q",
		extra_params => [ '-U', 'shardid_monitor' ]);
	is($err, '', 'it is asked without an error');
	return decode_json($out);
}

# Sessions that have ended count their rows a moment later.
sub await_statistics
{
	my ($database, $rows) = @_;
	return $node->poll_query_until($database, "SELECT sum(n_tup_ins) = $rows FROM pg_stat_user_tables WHERE relname ~ '^(photos|events|numbered|of_two)'") || die 'no statistics';
}

# Generators with a shard in the default, the database's shard, another layout, partitions; and a plain sequence.
query(<<'SQL');
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE EXTENSION shardid_lease CASCADE;
CREATE TABLE photos (id bigint DEFAULT next_id(generator => 'shardid_seq', shard => 5), name text);
CREATE SEQUENCE events_id_seq;
CREATE TABLE events (id bigint DEFAULT next_id(generator => 'events_id_seq', epoch => '2020-01-01 00:00:00+00',
    shard_bits => 4, sequence_bits => 12), name text) PARTITION BY LIST (name);
CREATE TABLE events_a PARTITION OF events FOR VALUES IN ('a');
CREATE TABLE events_b PARTITION OF events FOR VALUES IN ('b');
CREATE SEQUENCE unused;
CREATE SEQUENCE numbers;
CREATE TABLE of_two (id bigint DEFAULT CASE WHEN random() < 2 THEN next_id(generator => 'events_id_seq', epoch => '2020-01-01 00:00:00+00',
    shard_bits => 4, sequence_bits => 12) ELSE next_id(3, 'shardid_seq') END, name text);
CREATE TABLE numbered (id bigint DEFAULT next_id(nextval('numbers')::int % 4), name text);
CREATE SCHEMA hidden;
CREATE SEQUENCE hidden.generator;
SELECT nextval('numbers'), uuid_v1(), objectid(), next_id(1, 'hidden.generator');
INSERT INTO photos SELECT FROM generate_series(1, 10);
INSERT INTO events (name) SELECT unnest(ARRAY['a', 'b', 'b']);
INSERT INTO numbered (name) VALUES ('of the default generator');
INSERT INTO of_two (name) VALUES ('of either');
CREATE ROLE shardid_monitor LOGIN IN ROLE pg_monitor;
SQL
query('GRANT USAGE ON SCHEMA ids TO shardid_monitor');
is(keys %{ measured($generators) }, 0, 'pg_monitor alone sees no generator');
query($text{'role.sql'});
await_statistics('shop', 15);
my $before = measured($generators);
is(join(' ', sort keys %$before), 'ids.shardid_seq public.events_id_seq', 'with role.sql, the generators that it grants');
my ($photos, $events) = @$before{qw(ids.shardid_seq public.events_id_seq)};
is("$photos->{shard} $events->{shard}", '3,5 3', 'their shards');
is("$photos->{rows_inserted} $events->{rows_inserted}", '12 4', 'the rows of their tables, and of partitions, also where a default names two sequences');
is(query(<<"SQL"), 't', 'time and ids that are left, in the layout of each');
SELECT bool_and(s.ids_until_end BETWEEN m.until_end::numeric - 1e9 AND m.until_end::numeric
    AND abs(extract(epoch FROM s.negative_at - clock_timestamp()) - m.negative) < 600
    AND abs(extract(epoch FROM s.end_at - clock_timestamp()) - m.seconds) < 600 AND m.lead BETWEEN -600 AND 0)
FROM (VALUES ('shardid_seq'::regclass, '2011-08-24 21:07:01.721+00'::timestamptz, 13, 10, '$photos->{ids_until_end}',
              $photos->{seconds_until_negative}, $photos->{seconds_until_end}, $photos->{lead_seconds}),
             ('events_id_seq', '2020-01-01 00:00:00+00', 4, 12, '$events->{ids_until_end}',
              $events->{seconds_until_negative}, $events->{seconds_until_end}, $events->{lead_seconds}))
     m (generator, epoch, shard_bits, sequence_bits, until_end, negative, seconds, lead),
     LATERAL id_generator_status(m.generator, m.epoch, m.shard_bits, m.sequence_bits) s
SQL
# Generators that the owner of a schema or of a table creates later, and one of a role that owned nothing.
query(<<'SQL');
SET client_min_messages = error;
CREATE ROLE shop_owner;
CREATE ROLE other_owner;
GRANT CREATE, USAGE ON SCHEMA ids, public TO shop_owner, other_owner;
SET ROLE shop_owner;
CREATE TABLE carts (id bigint);
CREATE FUNCTION public.format(text, regrole) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE FUNCTION public.format(text, name, name) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
SQL
query($text{'role.sql'});
query(<<"SQL") for qw(shop_owner other_owner);
SET ROLE $_;
CREATE SEQUENCE ids.later_of_$_;
SELECT ids.next_id(1, 'ids.later_of_$_');
SQL
is(join(' ', grep { /later/ } sort keys %{ measured($generators) }), 'ids.later_of_shop_owner', 'what an owner creates later is watched');
query($text{'role.sql'});
is(grep({ /later/ } keys %{ measured($generators) }), 2, 'that of another role after role.sql has run again');

# A transaction that holds readers back, here of a generator that was used at least a second before.
query('ALTER SEQUENCE events_id_seq CACHE 2 OWNED BY events.id');
my $writer = open_session($node->connstr('shop'));
ask_safe($writer, q(BEGIN; INSERT INTO events (name) VALUES ('a'); SELECT pg_sleep(1);));
is(join(' ', map { $_->{is_owned} } @{ measured($generators) }{qw(public.events_id_seq ids.shardid_seq)}), '1 0', 'one is owned by a column');
my ($held_back, $free) = map { $_->{seconds_held_back} } @{ measured($generators) }{ 'public.events_id_seq', 'ids.shardid_seq' };
is($held_back >= 1 && $held_back < 600 && "$free", '0', "readers of one generator are held back for $held_back s");
ask_safe($writer, 'COMMIT;');
close_session($writer);
is(measured($generators)->{'public.events_id_seq'}{seconds_held_back}, 0, 'until it commits');
my $owner = open_session($node->connstr('shop'));
ask_safe($owner, 'BEGIN; ALTER SEQUENCE events_id_seq INCREMENT BY 1;');
like(($node->psql('shop', $generators, extra_params => [ '-U', 'shardid_monitor' ]))[2], qr/lock timeout/, 'an open ALTER SEQUENCE lets the query fail');
close_session($owner);
# A lease: held, refused by its registry, released.
query(registry_here() . <<'SQL');
SELECT shardid_lease.create_id_space('shop');
CREATE SEQUENCE orders_id_seq;
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'orders_id_seq');
SQL
my $held = measured($leases)->{'public.orders_id_seq'};
cmp_ok($held->{seconds_left}, '>', 0, 'a lease is held');
is(join(' ', @$held{qw(space shard renewal_failed registry_refuses)}), 'shop 0 0 0', 'and no renewal has failed');
query(<<'SQL');
SELECT shardid_lease.evict_shard('shop', 0);
CREATE SEQUENCE other_id_seq;
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'other_id_seq', shard => 0);
SQL
$node->psql('shop', 'SELECT shardid_lease.renew_leases()');
my $refused = measured($leases)->{'public.orders_id_seq'};
is(join(' ', @$refused{qw(renewal_failed registry_refuses)}), '1 1', 'the registry refuses');
query(q(SELECT shardid_lease.release_shard('orders_id_seq')));
is(measured($leases)->{'public.orders_id_seq'}{seconds_left}, 'NaN', 'a lease that was released does not end');

# The configurations.
is(system('yamllint', '-s', '-d', '{extends: relaxed, rules: {line-length: {max: 120}}}', glob "$folder/*.yml"), 0, 'all are YAML');

# The SQL-only version has a function in place of the layouts that are stored.
make_portable($node, 'portable');
$node->safe_psql('portable', <<'SQL');
CREATE TABLE photos (id bigint DEFAULT next_id(5), name text);
INSERT INTO photos SELECT FROM generate_series(1, 10);
SQL
my ($grants) = grep { $_->{words} eq 'portable_role' } blocks_of("$folder/README.md");
$node->safe_psql('portable', $text{'role.sql'} . $grants->{text});
await_statistics('portable', 10);
my $portable = measured($generators, 'portable')->{'ids.shardid_seq'};
is(join(' ', @$portable{qw(shard rows_inserted)}), '5 10', 'the SQL-only version is measured');
cmp_ok(abs($portable->{seconds_until_end} - $photos->{seconds_until_end}), '<', 600, 'it ends when the extension does');
$node->safe_psql($_, 'DROP OWNED BY shardid_monitor') for 'shop', 'portable';
query('GRANT USAGE ON SCHEMA ids TO shardid_monitor');
is(keys %{ measured($generators) }, 0, 'what role.sql grants is undone');
is($node->safe_psql('portable', q(SELECT to_regnamespace('shardid_monitor') IS NULL)), 't', 'and the schema of the SQL-only version');
$node->stop;

# Alerts.
SKIP:
{
	skip 'no promtool, whose package takes 320 MB with what it needs: make test-full installs it', 1 if !grep { -x "$_/promtool" } split /:/, $ENV{PATH};
	is(system("cd $folder && promtool check config prometheus.yml && promtool test rules alerts_test.yml"), 0, 'promtool tests the alerts');
}
done_testing();
