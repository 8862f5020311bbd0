# Ids decoded outside the database: examples/decoding/vectors.json has what the database's functions return, and the
# programs there decode it. That the functions are right, t/oracles/python.pl and proof/unit test.
use Cwd 'getcwd';
use Encode ();
use JSON::PP;
use Docs;
use ShardidTest;

my $folder = 'examples/decoding';
my $file = "$folder/vectors.json";
my $vectors = decode_json(slurp_file($file));

# --- The database

my $node = new_node('decoding');
$node->safe_psql('postgres', q(CREATE DATABASE decoding ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0));
sub query { return $node->safe_psql('decoding', "SET timezone = 'UTC';\n$_[0]") }
query('CREATE EXTENSION shardid; \i sql/try.psql');
query(sprintf <<'SQL', getcwd() . "/$file");
CREATE TABLE vectors AS SELECT pg_read_file('%s')::jsonb AS v;
CREATE TABLE layouts AS SELECT l.* FROM vectors, jsonb_each(v->'layouts') AS layout,
    LATERAL (SELECT layout.key AS layout, x.* FROM jsonb_to_record(layout.value) AS x (epoch timestamptz, epoch_ms bigint, shard_bits int, sequence_bits int)) l;
CREATE TABLE ids AS SELECT x.*, epoch, shard_bits, sequence_bits FROM vectors, jsonb_to_recordset(v->'ids')
    AS x (layout text, id bigint, unix_ms bigint, time timestamptz, shard int, sequence int, text text) JOIN layouts USING (layout);
CREATE TABLE days AS SELECT x.*, epoch, shard_bits, sequence_bits FROM vectors, jsonb_to_recordset(v->'days')
    AS x (layout text, day timestamptz, lower bigint, upper bigint, "where" text) JOIN layouts USING (layout);
SQL

is(query('SELECT count(*) FROM layouts WHERE extract(epoch FROM epoch) * 1000 <> epoch_ms'), 0, 'each epoch is written twice, alike');
is(query('SELECT count(*) > 200, count(*) FILTER (WHERE id < 0) > 50, count(DISTINCT layout) FROM ids'), 't|t|17', 'ids of 17 layouts');
is(query(<<'SQL'), '', 'the database reads each id, and each text, as its vector says');
SELECT ids.* FROM ids, id_parts(id, epoch, shard_bits, sequence_bits) AS p
WHERE (p.ts, p.shard, p.sequence, extract(epoch FROM ts) * 1000) <> (time, ids.shard, ids.sequence, unix_ms)
   OR (id_to_text(id), id_from_text(text), id_from_text(lower(text))) <> (text, id, id)
SQL
is(query(<<'SQL'), '', 'its parts make it again, and so is the first id of its time, and of a microsecond after it');
SELECT ids.*, parts_make, of_time, of_next FROM ids, LATERAL (SELECT -1::bigint << shard_bits + sequence_bits AS time_bits) b,
    id_from_parts(time + interval '999 us', shard, sequence, epoch, shard_bits, sequence_bits) AS parts_make,
    id_lower_bound(time - CASE WHEN time > epoch THEN interval '999 us' ELSE '0' END, epoch, shard_bits, sequence_bits) AS of_time,
    LATERAL (SELECT CASE WHEN time < id_timestamp(-1, epoch, shard_bits, sequence_bits)
        THEN id_lower_bound(time + interval '1 us', epoch, shard_bits, sequence_bits) END AS of_next) n
WHERE parts_make <> id OR of_time <> id & time_bits
   OR of_next <> of_next & time_bits OR id_timestamp(of_next, epoch, shard_bits, sequence_bits) <> time + interval '1 ms'
SQL
is(query(<<'SQL'), '', 'and each day has its bounds');
SELECT * FROM days
WHERE id_lower_bound(greatest(day, epoch), epoch, shard_bits, sequence_bits) <> lower
   OR CASE WHEN upper IS NULL THEN
          try(format('SELECT id_lower_bound(%L, %L, %s, %s)', day + interval '1 day', epoch, shard_bits, sequence_bits)) NOT LIKE '22008 %'
      ELSE id_lower_bound(day + interval '1 day', epoch, shard_bits, sequence_bits) <> upper END
SQL
is(query(<<'SQL'), '', 'each UUID and ObjectId has its parts');
SELECT * FROM (
    SELECT e - 'uuid', CASE e->>'version' WHEN '7' THEN jsonb_build_object('version', 7, 'time', to_char(uuid_v7_timestamp(u), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        ELSE jsonb_build_object('version', (e->>'version')::int, 'clock_seq', uuid_v1_clock_seq(u1), 'node', uuid_v1_node(u1),
            'time', to_char(uuid_v1_timestamp(u1), 'YYYY-MM-DD"T"HH24:MI:SS.US') || uuid_v1_hundred_ns(u1) || 'Z') END
    FROM vectors, jsonb_array_elements(v->'uuids') e, CAST(e->>'uuid' AS uuid) u, CAST(coalesce(uuid_v6_to_v1(u), u) AS uuid) u1
    UNION ALL
    SELECT e - 'objectid', jsonb_build_object('time', to_char(objectid_timestamp(b), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'process', encode(substr(b, 5, 5), 'hex'), 'counter', ('x' || encode(substr(b, 10), 'hex'))::bit(24)::int)
    FROM vectors, jsonb_array_elements(v->'objectids') e, decode(e->>'objectid', 'hex') b) s (parts, said)
WHERE parts IS DISTINCT FROM said
SQL
is(query(q(SELECT text FROM vectors, jsonb_to_recordset(v->'refused') AS x (text text) WHERE try(format('SELECT id_from_text(%L)', text)) NOT LIKE '22P02 %')),
	'', 'id_from_text refuses each text that is none');
$node->stop;

# --- The programs, which print one line for each line of input

my (@questions, @answers);
for my $id (@{ $vectors->{ids} })
{
	my $layout = $vectors->{layouts}{ $id->{layout} };
	push @questions, join "\t", 'id', @$layout{qw(epoch shard_bits sequence_bits)}, $id->{id};
	push @answers, join "\t", @$id{qw(time shard sequence)};
	for my $text ($id->{text}, lc $id->{text}, $id->{text} =~ tr/01/Ol/r, $id->{text} =~ tr/01/oI/r)
	{
		push @questions, "text\t$text";
		push @answers, $id->{id};
	}
}
for my $refused (grep { !/\n/ } map { $_->{text} } @{ $vectors->{refused} })
{
	push @questions, "text\t$refused";
	push @answers, 'refused';
}
my $questions = Encode::encode('UTF-8', join '', map { "$_\n" } @questions);

sub answers_all
{
	my ($name, @command) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run(\@command, '<', \$questions, '>', \$out, '2>', \$err);
	my @got = split /\n/, $out;
	my @wrong = map { "$questions[$_]: " . ($got[$_] // 'nothing') . ", not $answers[$_]" } grep { ($got[$_] // '') ne $answers[$_] } 0 .. $#answers;
	is(@got . join("\n", '', @wrong[ 0 .. ($#wrong < 9 ? $#wrong : 9) ], $err), @answers . "\n", "$name answers as the vectors say");
	return;
}

my ($command, $answer) = map { $_->{text} } grep { $_->{language} =~ /^(?:sh|text)$/ } blocks_of("$folder/README.md");
is(`cd $folder && $command`, $answer, 'the command of README.md answers as it says');
answers_all('Python', 'python3', "$folder/decode.py");
answers_all('JavaScript', 'node', "$folder/decode.js");

done_testing();
