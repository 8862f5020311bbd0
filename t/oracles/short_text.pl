# Ids as short text, compared with an implementation by Python's base64 module: each id's text, each text's id, and the
# texts that are refused; in JSON, where ids as numbers become doubles; in servers of other encodings.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('short_text_oracle');
sub query { return $node->safe_psql('postgres', $_[0]) }
$ENV{PGCLIENTENCODING} = 'UTF8';

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

load_from_python('ids', 'id bigint, text text, typed text, as_double numeric');
is(query('SELECT count(*) FROM ids WHERE id < 0') > $count / 200, 1, 'negative ones among them');
is(query('SELECT count(*) FROM ids WHERE id_to_text(id) <> text'), 0, 'id_to_text writes as Python does');
is(query('SELECT count(*) FROM ids WHERE id_from_text(text) <> id'), 0, 'id_from_text reads it');
is(query('SELECT count(*) FROM ids WHERE typed <> text AND id_from_text(typed) <> id'),
	0, 'in either case, and with O, I and L');
is( query('SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY text COLLATE "C") AS before FROM ids) s
	WHERE (before < 0, before) > (id < 0, id)'),
	0, 'the texts sort as the unsigned ids do');

# What JSON.parse makes of numbers: nearly all above 2^53 change.
is(query('SELECT count(*) FROM ids WHERE id::float8 <> as_double::float8'),
	0, 'id::float8 is what a reader of doubles gets');
cmp_ok(query('SELECT count(*) FROM ids WHERE id <> as_double'), '>', $count / 10, 'which is another id for many');

# The id of docs/layouts.md: a double holds it exactly, but the double's shortest text, which JavaScript and Python's repr
# print, is another number.
my $held = '4032112536055714816';
is(query("SELECT $held\::float8::bigint = $held"), 't', "a double holds $held");
is(`python3 -c 'print(repr(float($held)))'`, "4.032112536055715e+18\n", 'and is printed as another number');

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

# Server encodings: the text is ASCII. Other characters are refused, and the error shows them, also if the server does
# not know the encoding's characters.
my %character_of = (UTF8 => 'あ', LATIN1 => 'ä', EUC_JP => 'あ', EUC_KR => '가', WIN1251 => 'ж', SQL_ASCII => 'あ');
for my $encoding (sort keys %character_of)
{
	my ($database, $character) = (lc "in_$encoding", $character_of{$encoding});
	query("CREATE DATABASE $database ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	$node->safe_psql($database, 'CREATE EXTENSION shardid');
	is($node->safe_psql($database, q(SELECT id_to_text(1469918176385), id_from_text('oooo1aryz6s4L'))),
		'00001ARYZ6S41|1469918176385', "$encoding: written and read");
	my ($code, $out, $err) =
	  $node->psql($database, "\\set VERBOSITY verbose\nSELECT id_from_text('00001ARYZ6S4$character$character')");
	like($err, qr/22P02.*"00001ARYZ6S4$character$character", whose character 13 is/s, "$encoding: $character is refused");
}

$node->stop;
done_testing();
