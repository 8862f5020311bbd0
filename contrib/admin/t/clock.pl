# id_partition_commands and maintain_id_partitions at special times, to which the clock is set: an hour that occurs
# twice or not at all, ids that become negative, the end of the time field, a generator that is ahead of a clock that
# was set back.
use Time::Local 'timegm';
use ShardidTest;

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node = with_fake_clock($clock, sub { return new_node('clock', "timezone = 'UTC'\nautovacuum = off\nshardid.shard_id = 5\n") });
sub query { return $node->safe_psql('postgres', $_[0]) }
# Sets the clock to a time like '2046-06-10 12:00', UTC.
sub set_time
{
	my ($year, $month, $rest) = $_[0] =~ /^(\d+)-(\d+)-(.*)$/;
	my ($day, $hour, $minute, $second) = split /\D/, $rest;
	set_fake_clock($clock, sprintf '%+d', timegm($second // 0, $minute, $hour, $day, $month - 1, $year) - time);
	return;
}
query(<<'SQL');
CREATE EXTENSION shardid_admin;
CREATE FUNCTION parts(parent regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(concat_ws(' ', relname, to_char(id_timestamp(bound[1]::bigint), 'DD"T"HH24:MI'), '..',
		to_char(id_timestamp(bound[2]::bigint), 'DD"T"HH24:MI')), E'\n' ORDER BY id_timestamp(bound[1]::bigint), relname)
	FROM pg_inherits JOIN pg_class ON oid = inhrelid,
		regexp_match(replace(replace(pg_get_expr(relpartbound, oid), 'MINVALUE', (-9223372036854775808)::text), 'MAXVALUE', '9223372036854775807'),
			$r$FROM \('?(.*?)'?\) TO \('?(.*?)'?\)$r$) bound
	WHERE inhparent = parent
$$;
SQL
sub table_of { query("CREATE TABLE $_[0] (id bigint PRIMARY KEY DEFAULT next_id(generator => 'g')) PARTITION BY RANGE (id)"); return $_[0] }
query('CREATE SEQUENCE g');

# 02:30 in Berlin, the first and the second time.
my %parts_at = (
	'2027-10-31 00:30' => '_2027103101 30T23:00 .. 31T01:00, _2027103102 31T01:00 .. 31T02:00',
	'2027-10-31 01:30' => '_2027103102 31T01:00 .. 31T02:00, _2027103103 31T02:00 .. 31T03:00',
	'2028-03-26 00:30' => '_2028032601 26T00:00 .. 26T01:00, _2028032603 26T01:00 .. 26T02:00');
for my $time (sort keys %parts_at)
{
	my $table = table_of('hours_' . $time =~ s/\D//gr);
	set_time($time);
	query("CALL shardid_admin.maintain_id_partitions('$table', '1 hour', 1, timezone => 'Europe/Berlin')");
	is(query("SELECT parts('$table')") =~ s/\n/, /gr =~ s/$table//gr, $parts_at{$time}, "an hour that comes twice or not at all, at $time");
	is(query("INSERT INTO $table DEFAULT VALUES; SELECT count(*) FROM $table"), 1, 'with room for the present');
}

# The clock was set back by 18 hours: ids continue from the last one.
query("CREATE SEQUENCE h; CREATE TABLE ahead (id bigint PRIMARY KEY DEFAULT next_id(generator => 'h')) PARTITION BY RANGE (id)");
query('CREATE TABLE ahead_of_default (id bigint PRIMARY KEY DEFAULT next_id(5)) PARTITION BY RANGE (id)');
set_time('2029-01-10 20:00');
query(q{SELECT next_id(generator => 'h'), next_id(5)});
set_time('2029-01-10 01:30');
for my $table ('ahead', 'ahead_of_default')
{
	query("CALL shardid_admin.maintain_id_partitions('$table', '1 hour', 0)");
	is(query("SELECT count(*), max(relid::regclass::text) FROM pg_partition_tree('$table') WHERE isleaf"), "20|${table}_2029011020",
		"$table: up to where the generator is");
	is(query("INSERT INTO $table DEFAULT VALUES; SELECT tableoid::regclass FROM $table"), "${table}_2029011020", 'with room for its next id');
}

# Ids become negative, and the time field ends.
set_time('2046-06-10 12:00');
table_of('flip');
query(q{CALL shardid_admin.maintain_id_partitions('flip', '1 month', 1)});
is(query(q{SELECT parts('flip')}), "flip_204606_positive 01T00:00 .. 27T17:00\nflip_204606_negative 27T17:00 .. 01T00:00\nflip_204607 01T00:00 .. 01T00:00",
	'two partitions for the month in which ids become negative');
is(query(<<'SQL'), "flip_204606_negative|3\nflip_204606_positive|18\nflip_204607|31", 'with room for all of their days');
INSERT INTO flip SELECT id_lower_bound(day) FROM generate_series('2046-06-10'::timestamptz, '2046-07-31', '1 day') day;
SELECT tableoid::regclass::text COLLATE "C" AS part, count(*) FROM flip GROUP BY part ORDER BY part;
SQL
is(query(q{SELECT count(*) FROM shardid_admin.id_partition_commands('flip', '1 month', 1)}), 0, 'nothing is missing then');
set_time('2046-08-15 12:00');
query(q{CALL shardid_admin.maintain_id_partitions('flip', '1 month', 0, keep => '1 month')});
is(query(q{SELECT parts('flip')}), "flip_204607 01T00:00 .. 01T00:00\nflip_204608 01T00:00 .. 01T00:00", 'both go when they are old');
set_time('2081-04-20 12:00');
table_of('last');
query(q{CALL shardid_admin.maintain_id_partitions('last', '1 month')});
is(query(q{INSERT INTO last VALUES (-1), (DEFAULT); SELECT tableoid::regclass, count(*) FROM last GROUP BY 1}), 'last_208104|2', 'the last month of the time field');
set_time('2081-05-02 00:00');
like(($node->psql('postgres', q{SELECT shardid_admin.id_partition_commands('last', '1 month')}))[2], qr/timestamp is outside the range of the ids/, 'and none after it');

$node->stop;
done_testing();
