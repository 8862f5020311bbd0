# Ids as short text, compared with an implementation by Python's base64 module: each id's text, each text's id, and the
# texts that are refused.
use ShardidTest;

my $node = new_node('short_text_oracle');
sub query { return $node->safe_psql('postgres', $_[0]) }

# Each run has new values; the seed repeats them.
my $seed = int rand 1 << 31;
my $count = rounds(30_000, 100_000);
note "seed $seed";

sub load_from_python
{
	my ($table, $columns) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$table";
	system("python3 t/oracles/base32_oracle.py $table $count $seed >$file") == 0 or die 'python3 failed';
	query("CREATE TABLE $table ($columns)");
	query("COPY $table FROM '$file'");
	is(query("SELECT count(*) FROM $table"), $count, "Python made $count $table");
	return;
}

load_from_python('ids', 'id bigint, text text, typed text');
is(query('SELECT count(*) FROM ids WHERE id < 0') > $count / 200, 1, 'negative ones among them');
is(query('SELECT count(*) FROM ids WHERE id_to_text(id) <> text'), 0, 'id_to_text writes as Python does');
is(query('SELECT count(*) FROM ids WHERE id_from_text(text) <> id'), 0, 'id_from_text reads it');
is(query('SELECT count(*) FROM ids WHERE typed <> text AND id_from_text(typed) <> id'),
	0, 'in either case, and with O, I and L');
is( query('SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY text COLLATE "C") AS before FROM ids) s
	WHERE (before < 0, before) > (id < 0, id)'),
	0, 'the texts sort as the unsigned ids do');

load_from_python('texts', 'text text, id bigint');
query(<<'SQL');
CREATE FUNCTION read(text text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN id_from_text(text);
EXCEPTION WHEN invalid_text_representation THEN
    RETURN NULL;
END
$$
SQL
is(query("SELECT count(id) > $count / 10, count(*) - count(id) > $count / 10 FROM texts"), 't|t', 'good and bad ones');
is(query('SELECT count(*) FROM texts WHERE read(text) IS DISTINCT FROM id'),
	0, 'id_from_text takes those that Python takes, for the same ids, and no other');

$node->stop;
done_testing();
