# portable/shardid.sql, judged like the extension: under load, with clocks that step, through crashes and a failover, with a
# generator that others move, with sessions that are cancelled; its rights, and what its callers cannot plant.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use Boundaries;
use Docs;
use Portable;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

# The WAL writer must not help.
my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_portable_node('portable', <<'CONF'); });
wal_writer_delay = 10s
restart_after_crash = off
log_min_messages = error
log_min_error_statement = panic
CONF
my @portable = (dbname => 'portable');
sub query { return $node->safe_psql('portable', $_[0]) }

sub restart_at
{
	my ($offset) = @_;
	set_fake_clock($clock, $offset);
	with_fake_clock($clock, sub { start_again($node) });
	return;
}

# A faked clock is slow to read: loads are judged without one.
$node->stop;
$node->start;

# Load: ids one by one, in bulk and many at once.
query(<<'SQL');
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5), n int);
CREATE SEQUENCE narrow;
SQL
my $seconds = rounds(1, 10);
my @loads = map { start_clients($node, 4, $_, @portable, seconds => $seconds) } (
	'SELECT next_id(5)',
	'INSERT INTO photos DEFAULT VALUES RETURNING id',
	'INSERT INTO photos (n) SELECT generate_series(1, 200) RETURNING id',
	'SELECT next_ids(5, 2000)');
finish_clients($_) for @loads;
my $verdict = judge_clients(\@loads);
cmp_ok($verdict->{ids}, '>', 2000, "16 sessions drew $verdict->{ids} ids");
is_innocent($verdict, 'portable: load', 1);
my $narrow_draw = q{SELECT next_id(5, 'narrow', shard_bits => 22, sequence_bits => 0)};
my $narrow = start_clients($node, 4, $narrow_draw, @portable, seconds => $seconds);
finish_clients($narrow);
is_innocent(judge_clients([$narrow], shard_bits => 22, sequence_bits => 0), 'portable: each waits for its millisecond', 1);

# The same load convicts the recipe.
query(slurp_file('bench/baseline.sql'));
my $recipe = { duplicates => 0 };
for my $round (1 .. 10)
{
	my $clients = start_clients($node, 16, 'SELECT baseline.next_id() FROM (SELECT generate_series(1, 1000)) s',
		@portable, seconds => 1);
	finish_clients($clients);
	$recipe = judge_clients([$clients]);
	last if $recipe->{duplicates};
}
cmp_ok($recipe->{duplicates}, '>', 0, "the recipe repeats $recipe->{duplicates} of $recipe->{ids} ids");

# Others move the generator, as in t/024_moved.pl: while the clock is right, none of it repeats an id.
sub draw_beside
{
	my ($name, $moves, %allowed) = @_;
	query('CREATE SEQUENCE g');
	my $clients = start_clients($node, 3, q{SELECT next_id(1, 'g') FROM (SELECT generate_series(1, 100)) s},
		@portable, seconds => rounds(1, 20));
	my $moved = query(<<SQL);
CREATE TEMPORARY TABLE moved (count int);
DO \$\$
DECLARE
    n int := 0;
    before bigint;
    till timestamptz := clock_timestamp() + interval '$seconds s';
BEGIN
    WHILE clock_timestamp() < till LOOP
        before := pg_sequence_last_value('g');
        $moves
        n := n + 1;
    END LOOP;
    INSERT INTO moved VALUES (n);
END
\$\$;
SELECT count FROM moved;
SQL
	finish_clients($clients);
	my $found = judge_clients([$clients], %allowed);
	cmp_ok($found->{ids}, '>', 100, "$name: $found->{ids} ids beside $moved moves");
	is_innocent($found, "portable: $name", $moved);
	query('DROP SEQUENCE g');
	return;
}

draw_beside('setval to the value of 50 ms ago', q{PERFORM pg_sleep(0.05); PERFORM setval('g', before);});
draw_beside('setval to the value read before, at once', q{PERFORM setval('g', before);});
draw_beside('setval to 1', q{PERFORM setval('g', 1);});
draw_beside('setval and raise_generator',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before, false); PERFORM raise_generator('g', 5);});

# Two generators with one mark, of which one is moved: they wait for each other, no more.
query(<<'SQL');
DO $$
BEGIN
    FOR n IN 1 .. 70 LOOP EXECUTE format('CREATE SEQUENCE twin_%s', n); END LOOP;
END
$$
SQL
my ($one, $other) = split /\|/, query(<<'SQL');
SELECT a.relname, b.relname FROM pg_class a, pg_class b
WHERE a.relkind = 'S' AND b.relkind = 'S' AND a.relname LIKE 'twin%' AND b.relname LIKE 'twin%' AND a.oid < b.oid
  AND shardid_mark_of(a.oid) = shardid_mark_of(b.oid) LIMIT 1
SQL
if ($other)
{
	my @twins = map { start_clients($node, 2, "SELECT next_id(1, '$_')", @portable, seconds => 1) } $one, $other;
	finish_clients($_) for @twins;
	my @found = map { judge_clients([$_]) } @twins;
	cmp_ok($found[$_]{ids}, '>', 20, "a generator whose mark is another's, too: $found[$_]{ids} ids") for 0, 1;
	is_innocent($found[$_], 'portable: a shared mark', 1) for 0, 1;
}
else
{
	fail('there are two generators with one mark');
}

# Sessions that are cancelled at any moment, time and again, leave no lock behind and take nothing with them.
my $busy = start_clients($node, 6, q{SELECT next_id(5) FROM (SELECT generate_series(1, 50)) s}, @portable,
	tolerate => '57014', seconds => rounds(2, 20));
query(<<"SQL");
DO \$\$
BEGIN
    FOR n IN 1 .. @{[ rounds(1500, 20000) ]} LOOP
        PERFORM pg_stat_clear_snapshot();
        PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT next_id(5) FROM%' AND pid <> pg_backend_pid();
        PERFORM pg_sleep(0.0002);
    END LOOP;
END
\$\$
SQL
finish_clients($busy);
my $cancelled = judge_clients([$busy]);
cmp_ok($cancelled->{ids}, '>', 0, "cancelled sessions were told $cancelled->{ids} ids");
is_innocent($cancelled, 'portable: sessions cancelled', 1);
is(query(q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')), 0, 'and leave no lock');
is( query(<<'SQL'), '0|t', 'a transaction that goes on after a draw holds no advisory lock; nor one whose draw failed');
BEGIN;
SELECT next_id(5) \g /dev/null
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() \gset
SAVEPOINT s;
DO $$ BEGIN PERFORM next_id(8192); EXCEPTION WHEN numeric_value_out_of_range THEN END $$;
SELECT :count, count(*) = 0 FROM pg_locks WHERE locktype = 'advisory';
SQL

# Nobody waits for ALTER SEQUENCE with the lock in hand: whoever altered a generator can draw from it.
query('CREATE SEQUENCE altered; SELECT next_id(5, \'altered\')');
my $waiting;
my $altering = IPC::Run::start(
	[
		'psql', '-XAtq', '-d', $node->connstr('portable'), '-c', 'SET deadlock_timeout = \'100ms\'', '-c', 'BEGIN',
		'-c', 'ALTER SEQUENCE altered CACHE 2', '-c', 'SELECT pg_sleep(1)',
		'-c', 'SELECT next_id(5, \'altered\') > 0', '-c', 'COMMIT'
	],
	'>', \my $altered, '2>&1', IPC::Run::timer(30));
$node->poll_query_until('portable', q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(1)%'));
my @blocked = map { start_clients($node, 2, q(SELECT next_id(5, 'altered')), @portable, rounds => 5) } 1;
$altering->finish;
finish_clients($_) for @blocked;
like($altered, qr/^t$/m, 'who alters a generator draws from it while others wait');

# Rights: UPDATE, which setval asks for, and USAGE; no more, and nothing on what the file makes.
sub refused
{
	my ($sql) = @_;
	my (undef, undef, $stderr) = $node->psql('portable', "\\set VERBOSITY verbose\n$sql");
	return $stderr;
}
query('CREATE ROLE app; CREATE SEQUENCE orders; GRANT USAGE ON SEQUENCE orders TO app');
like(refused(q(SET ROLE app; SELECT next_id(5, 'orders'))), qr/42501: permission denied for sequence orders.*GRANT USAGE, UPDATE/s,
	'USAGE alone does not do');
query('GRANT UPDATE ON SEQUENCE orders TO app');
like(query(q(SET ROLE app; SELECT next_id(5, 'orders'))), qr/^\d+$/, 'USAGE and UPDATE do');
is(query(q{SELECT count(DISTINCT next_id((random() * 5)::int, 'orders')) FROM generate_series(1, 500)}), 500, 'a shard that is not inlined');
like(refused(q(SET ROLE app; SELECT next_id(5))), qr/42501: permission denied for sequence shardid_seq/, 'not for another generator');
like(refused(q(SET ROLE app; ALTER SEQUENCE ids.shardid_mark_0 RESTART)), qr/42501/, 'nobody else owns a mark');

# What the page shows, and what pg_tle is to be told: it runs as CREATE EXTENSION runs it.
make_portable($node, 'page');
my $shown = $node->safe_psql('page', "SET search_path = public;\n" . block_of('portable.md', 'portable_first'));
like($shown, qr/^\d+\n\d+\nlighthouse\|.*\|5\|\d+$/m, 'the page, as it stands');
my $told_tle = qx(portable/pg_tle.sh);
my ($call, $script) = $told_tle =~ /^(SELECT pgtle\.install_extension\('shardid_portable', '1\.0', '[^']+',)\n\$_pgtle_\$\n(.*)\$_pgtle_\$\);\n\z/s;
ok($call, 'a call of pgtle.install_extension');
ok($script =~ s/^SELECT pg_catalog\.pg_extension_config_dump\('shardid_seq', ''\);$//m, 'whose position a dump carries');
unlike($script, qr/^\\|^(?:BEGIN|COMMIT);/m, 'without psql\'s commands and without a transaction');
is( $node->safe_psql('page', "CREATE SCHEMA tle; BEGIN; SET LOCAL search_path = tle; $script COMMIT; SELECT tle.next_id(5) > 0 FROM tle.shardid_seq"),
	't', 'it runs as CREATE EXTENSION runs a script');
like($node->safe_psql('page', block_of('portable.md', 'portable_rights') =~ s/CREATE ROLE app;//r . 'SET ROLE app; SELECT ids.next_id(5)'),
	qr/^\d+$/, 'the rights on the page are enough');

# Whatever callers have in their search_path.
query(<<'SQL');
CREATE SCHEMA planted AUTHORIZATION app;
SET ROLE app;
DO $$
DECLARE
    made text;
BEGIN
    FOREACH made IN ARRAY ARRAY['pg_sequence_last_value(regclass)', 'pg_advisory_xact_lock(bigint)', 'clock_timestamp()',
                                'setval(regclass, bigint)', 'floor(double precision)', 'format(text, text)'] LOOP
        EXECUTE format('CREATE FUNCTION planted.%s RETURNS bigint LANGUAGE plpgsql AS %L', made,
                       'BEGIN RAISE ''planted''; END');
    END LOOP;
    CREATE FUNCTION planted.wrong(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
    CREATE FUNCTION planted.wrong(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
    FOREACH made IN ARRAY ARRAY['+', '-', '&', '|', '#', '<<', '>>', '*'] LOOP
        EXECUTE format('CREATE OPERATOR planted.%s (FUNCTION = planted.wrong, LEFTARG = bigint, RIGHTARG = bigint)', made);
        EXECUTE format('CREATE OPERATOR planted.%s (FUNCTION = planted.wrong, LEFTARG = bigint, RIGHTARG = int)', made);
    END LOOP;
END
$$;
SQL
my @calls = (
	q(ids.next_id(5, 'ids.orders')), q((SELECT count(*) FROM ids.next_ids(5, 3000, 'ids.orders'))),
	q(ids.raise_generator('ids.orders', 5)), 'ids.id_timestamp(5)', 'ids.id_shard(5)', q(ids.id_lower_bound('2026-01-01')),
	'ids.scatter_digits(123456)', 'ids.id_to_text(5)', q(ids.id_from_text('0000000000005')),
	q(ids.uuid_v1_timestamp('c232ab00-9414-11ec-b3c8-9f6bdeced846')));
my $path = 'SET search_path = planted, pg_catalog';
like(refused("$path; SELECT 5::bigint + 5"), qr/planted/, 'a search_path with planted operators is one');
is(query("$path; SELECT num_nulls(" . join(', ', @calls) . ')'), 0, 'which no function looks at');

# The file itself loads where nobody else makes anything, and again over itself.
sub loading
{
	my ($options) = @_;
	my $output = '';
	IPC::Run::run([ 'psql', '-Xq', '-d', $node->connstr('postgres') . " options='$options'", '-f', 'portable/shardid.sql' ],
		'>', \$output, '2>&1');
	return $output;
}
$node->safe_psql('postgres', 'CREATE SCHEMA open; GRANT CREATE ON SCHEMA open TO PUBLIC; CREATE SCHEMA twice');
like(loading('-csearch_path=open'), qr/everybody can create objects in schema "open"/, 'no schema in which everybody creates');
like(loading('-csearch_path=nowhere'), qr/no schema has been selected/, 'no schema, no functions');
is(loading('-csearch_path=twice'), '', 'a schema of its own');
is(loading('-csearch_path=twice'), '', 'again');
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_proc WHERE pronamespace IN ('open'::regnamespace, 'public'::regnamespace))),
	0, 'what was refused has left nothing');
is( $node->safe_psql('postgres', q(ALTER SCHEMA twice RENAME TO renamed; SET search_path = public; SELECT renamed.next_id(5) > 0)),
	't', 'the schema can be renamed');

# All that both have is said in the same words. Each argument takes its boundaries, the others are usual ones.
$node->safe_psql('portable', 'CREATE SCHEMA ext; CREATE EXTENSION shardid SCHEMA ext');
query(<<'SQL');
CREATE FUNCTION said(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text; message text; detail text; hint text;
BEGIN
    EXECUTE 'SELECT (' || call || ')::text' INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' / ', SQLSTATE, message, detail, hint);
END
$$;
CREATE TABLE calls (call text);
SQL
my %name_of = ('timestamptz' => 'timestamp with time zone', int => 'integer');
my @calls_of_both;
for my $function (split /\n/, query(<<'SQL'))
SELECT p.proname || '|' || string_agg(format_type(t.type, NULL), '|' ORDER BY t.n)
FROM pg_proc p, unnest(p.proargtypes) WITH ORDINALITY t (type, n)
WHERE p.pronamespace = 'ext'::regnamespace AND p.provolatile = 'i' GROUP BY p.oid ORDER BY 1
SQL
{
	my ($name, @types) = split /\|/, $function;
	my @usual = map { boundaries($_)->[0] } @types;
	@usual[ -2, -1 ] = (13, 10) if $name =~ /^id_(timestamp|parts|lower_bound|shard)$/;
	$usual[1] = '2011-08-24 21:07:01.721+00' if $name =~ /^id_(timestamp|parts|lower_bound)$/;
	for my $place (0 .. $#types)
	{
		for my $value (@{ boundaries($types[$place]) })
		{
			for my $layout ($name =~ /^id_(timestamp|parts|lower_bound)$/ && $place < 2 ? ([ 13, 10 ], [ 10, 12 ], [ 4, 8 ], [ 0, 1 ], [ 0, 0 ]) : undef)
			{
				my @values = @usual;
				@values[ -2, -1 ] = @$layout if $layout;
				$values[$place] = $value;
				push @calls_of_both, "$name(" . join(', ', map {
					defined $values[$_] ? "'" . $values[$_] =~ s/'/''/gr . "'::$types[$_]" : "NULL::$types[$_]" } 0 .. $#types) . ')';
			}
		}
	}
}
my $both = PostgreSQL::Test::Utils::tempdir() . '/calls';
my $listed = join '', map { s/\\/\\\\/gr . "\n" } @calls_of_both;
utf8::encode($listed);
append_to_file($both, $listed);
query("\\copy calls FROM '$both'");
cmp_ok(query('SELECT count(*) FROM calls'), '>', 1500, 'many calls: ' . @calls_of_both);
is(query(<<'SQL'), '', 'the extension and the portable functions say the same');
SELECT call, said('ext.' || call) AS extension, said('ids.' || call) AS portable FROM calls
WHERE said('ext.' || call) IS DISTINCT FROM said('ids.' || call) LIMIT 20
SQL
# And not as constants only.
is(query(<<'SQL'), '0', 'nor with arguments from a table');
SELECT count(*) FROM generate_series(1, 2000) n, LATERAL (SELECT (hashint8extended(n, 5) >> (n % 40)) AS id) i
WHERE (ext.id_timestamp(id), ext.id_shard(id), ext.id_sequence(id), ext.id_to_text(id), ext.id_from_text(ext.id_to_text(id)))
      IS DISTINCT FROM (ids.id_timestamp(id), ids.id_shard(id), ids.id_sequence(id), ids.id_to_text(id), ids.id_from_text(ids.id_to_text(id)))
SQL
query('DROP EXTENSION shardid');

# Clocks that step. pg_sleep, by which a session waits, measures by the wall clock.
$node->stop;
restart_at('+0');
my @told;
sub draw
{
	my ($count) = @_;
	push @told, split /\n/, query("SELECT next_id(5) FROM generate_series(1, $count)");
	return;
}
draw(2000);
for my $back ('-0.001', '-1', '-3600')
{
	set_fake_clock($clock, '+0');
	draw(500);
	set_fake_clock($clock, $back);
	draw(4000);
}
cmp_ok(lead_ms($node, 'ids.shardid_seq', 'portable'), '>', 3_500_000, 'an hour ahead of the clock, it goes on');
set_fake_clock($clock, '+3600');
draw(500);
set_fake_clock($clock, '+0');
draw(500);
set_fake_clock($clock, '+0 x0.5');
draw(500);
my $found = judge([ \@told ], lead_ms => -1);
query(q{CREATE SEQUENCE behind; CREATE SEQUENCE behind_narrow; SELECT next_id(5, 'behind'), next_id(5, 'behind_narrow', shard_bits => 22, sequence_bits => 0)});
set_fake_clock($clock, '-3600');
my @behind = map { start_clients($node, 4, $_, @portable, seconds => 1) } (
	q{SELECT next_ids(5, 1500, 'behind')}, q{SELECT next_id(5, 'behind_narrow', shard_bits => 22, sequence_bits => 0)});
finish_clients($_) for @behind;
is_innocent(judge_clients([ $behind[0] ], lead_ms => -1), 'portable: an hour behind, under load', 1);
is_innocent(judge_clients([ $behind[1] ], lead_ms => -1, shard_bits => 22, sequence_bits => 0), 'portable: an hour behind, each waits', 1);
is_innocent($found, 'portable: clock steps', 5);
set_fake_clock($clock, '-90000');
like(refused('SELECT next_id(5)'), qr/55000: generator "ids.shardid_seq" is too far ahead of the clock/, 'a day behind, it refuses');
like(query(q(SET shardid.max_lead = '2d'; SELECT next_id(5))), qr/^\d+$/, 'shardid.max_lead lets it go on');
set_fake_clock($clock, '-' . 20 * 365 * 86400);
like(refused('SELECT next_id(5)'), qr/22008: clock is before the epoch of the ids/, 'before the epoch');
set_fake_clock($clock, '+' . 60 * 365 * 86400);
like(refused('SELECT next_id(5)'), qr/2200H: time field of the ids is exhausted/, 'after the end');
set_fake_clock($clock, '+' . 30 * 365 * 86400);
query('CREATE SEQUENCE future');
my @future = split /\n/, query(q(SELECT next_id(5, 'future') FROM generate_series(1, 2000)));
is(scalar(grep { $_ < 0 } @future), 2000, 'beyond 2046 ids are negative');
is(scalar(grep { $future[$_] <= $future[ $_ - 1 ] } 1 .. $#future), 0, 'and increase');
set_fake_clock($clock, '+0');

# Crashes. What a commit has flushed does not come again, wherever the clock is then. The rest does not as long as the clock
# is not behind: that it can be repeated otherwise is shown, too.
my @modes = (
	{ name => 'autocommit', draw => 'SELECT next_id(5, \'crashed\')', offset => '-1h' },
	{ name => 'INSERT', draw => 'INSERT INTO crashes DEFAULT VALUES RETURNING id', offset => '-1h' },
	{ name => 'rolled back', draw => [ 'BEGIN', 'SELECT next_id(5, \'crashed\')', 'ROLLBACK' ], offset => '+0' },
	{
		name => 'synchronous_commit = off',
		draw => 'INSERT INTO crashes DEFAULT VALUES RETURNING id',
		options => '-c synchronous_commit=off',
		offset => '+0'
	});

sub crashes
{
	my ($mode, $offset, $count) = @_;
	my @histories;
	for my $round (1 .. $count)
	{
		my $clients = start_clients($node, 8, $mode->{draw}, @portable, options => $mode->{options});
		usleep 200_000 + rand 200_000;
		query('CHECKPOINT') if $round % 2;
		usleep 100_000;
		kill_node($node);
		finish_clients($clients);
		restart_at($offset);
		push @histories, $clients;
	}
	my $after = start_clients($node, 2, $modes[0]{draw}, @portable, rounds => 20);
	finish_clients($after);
	restart_clock();
	return [ @histories, $after ];
}

sub restart_clock { set_fake_clock($clock, '+0'); return; }

for my $mode (@modes)
{
	query('DROP TABLE IF EXISTS crashes; DROP SEQUENCE IF EXISTS crashed; CREATE SEQUENCE crashed;'
		  . q( CREATE TABLE crashes (id bigint DEFAULT next_id(5, 'crashed'))));
	my $count = rounds(1, 10);
	is_innocent(judge_clients(crashes($mode, $mode->{offset}, $count), lead_ms => -1), "portable: kill -9, $mode->{name}", $count);
}
my $lost = 0;
for my $round (1 .. 5)
{
	query('DROP TABLE IF EXISTS crashes; DROP SEQUENCE IF EXISTS crashed; CREATE SEQUENCE crashed');
	# The same ids a second time: the clock goes back to where they were drawn.
	my $begin = time;
	my $clients = start_clients($node, 8, $modes[2]{draw}, @portable);
	usleep 500_000;
	kill_node($node);
	finish_clients($clients);
	my $offset = time - $begin + 1;
	restart_at("-$offset");
	my $after = start_clients($node, 8, $modes[2]{draw}, @portable, seconds => 2);
	finish_clients($after);
	$lost = judge_clients([ $clients, $after ], lead_ms => -1)->{duplicates};
	restart_clock();
	last if $lost;
}
cmp_ok($lost, '>', 0, "rolled back, a crash, and a clock that is behind: $lost ids come again, as docs/portable.md says");
$node->stop;

# Failover to an asynchronous standby whose clock is right.
my $primary = new_portable_node('primary', '', allows_streaming => 1);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my (undef, undef, $on_standby) = $standby->psql('portable', "\\set VERBOSITY verbose\nSELECT next_id(5)");
like($on_standby, qr/25006: cannot execute next_id\(\) in a read-only transaction/, 'nothing is drawn on a standby');
is($standby->safe_psql('portable', 'SELECT end_at IS NOT NULL FROM id_generator_status()'), 't', 'but a generator is watched there');
my $before = start_clients($primary, 8, 'SELECT next_id(5)', @portable);
usleep 500_000;
kill_node($primary);
finish_clients($before);
$standby->promote;
my $after = start_clients($standby, 8, 'SELECT next_id(5)', @portable, seconds => 1);
finish_clients($after);
is_innocent(judge_clients([ $before, $after ], lead_ms => -1), 'portable: failover', 1);
$standby->stop;

done_testing();
