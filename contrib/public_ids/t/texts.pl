# contrib/public_ids/public_ids.sql: its texts are those of the independent contrib/public_ids/vectors.json and of the encoders
# there, in both directions, in Python and JavaScript, with FULL=1 also in Go and Java; no other text is accepted; keys
# rotate; schemas can be renamed.
use File::Copy;
use JSON::PP;
use ShardidTest;

my $path = 'contrib/public_ids/vectors.json';
is(qx(contrib/public_ids/vectors.py), slurp_file($path), 'vectors.py makes vectors.json');
my $json = JSON::PP->new->utf8->decode(slurp_file($path));

my $node = PostgreSQL::Test::Cluster->new('public_ids');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE shop; CREATE ROLE "Ids Owner" LOGIN');
$node->safe_psql('shop', 'CREATE EXTENSION pgcrypto; CREATE SCHEMA ids AUTHORIZATION "Ids Owner"');
sub loaded
{
	my ($schema) = @_;
	return run_log([ 'psql', '-Xq', '-U', 'Ids Owner', '-d', $node->connstr('shop') . " options='-csearch_path=$schema'", '-f', 'contrib/public_ids/public_ids.sql' ]);
}
ok(loaded('ids'), 'it loads, as a role without other rights, whose name is quoted');
sub query { return $node->safe_psql('shop', "SET search_path = ids;\n$_[0]") }
sub refused { my (undef, undef, $stderr) = $node->psql('shop', "\\set VERBOSITY verbose\n$_[0]"); return $stderr }

# Without a key.
my $kind_and_zeros = q('order', 'order_) . '0' x 26 . q(');
for my $call (q(ids.public_id('order', 5)), "ids.private_id($kind_and_zeros)")
{
	my ($hint) = refused("SELECT $call") =~ /55000: there is no key of public ids.*HINT:  As the owner of these functions, run (SELECT [^\n]*)\.$/ms;
	is($node->safe_psql('shop', "BEGIN; $hint; SELECT ($call)::text IS NULL; ROLLBACK"), "0\n" . ($call =~ /public_id/ ? 'f' : 't'), "$call: the hint works");
}
is(query(q(SELECT num_nulls(public_id(NULL, 5), public_id('order', NULL), private_id(NULL, 'x'), private_id('order', NULL), private_id('order', 'x')))),
	5, 'NULL for NULL, and for what cannot be a text, also without a key');

# The vectors: each key in turn is the newest one, which makes the texts. The keys' numbers stay.
query('CREATE TABLE vectors (vectors json); INSERT INTO vectors VALUES ($json$' . JSON::PP->new->ascii->encode($json) . '$json$)');
my $keys = q(SELECT (k->>'number')::int AS number, decode(k->>'master', 'hex') AS master FROM vectors, json_array_elements(vectors->'keys') k);
for my $number (map { $_->{number} } @{ $json->{keys} })
{
	is(query(<<"SQL"), '0|40|0|0|1', "texts with key $number as the newest");
TRUNCATE public_id_keys;
INSERT INTO public_id_keys (generation, master) SELECT CASE number WHEN $number THEN 4 ELSE 0 END + number, master FROM ($keys) k;
SELECT count(*) FILTER (WHERE (v->>'key')::int = $number AND public_id(v->>'kind', (v->>'id')::bigint) <> v->>'text'),
       count(*) FILTER (WHERE (v->>'key')::int = $number),
       count(*) FILTER (WHERE private_id(v->>'kind', v->>'text') IS DISTINCT FROM (v->>'id')::bigint),
       (SELECT count(private_id(r->>'kind', r->>'text')) FROM vectors, json_array_elements(vectors->'refused') r),
       (SELECT count(DISTINCT public_id('order', 5)) FROM generate_series(1, 10))
FROM vectors, json_array_elements(vectors->'vectors') v
SQL
}
cmp_ok(scalar @{ $json->{refused} }, '>', 70, 'texts that are refused');
my %no_kinds = map { $_->{kind} => 1 } grep { $_->{why} =~ /^no kind has/ } @{ $json->{refused} };
like(refused(q[SELECT ids.public_id('] . JSON::PP->new->ascii->encode([$_]) . q['::json->>0, 5)]),
	qr/22023: invalid kind of a public id.*DETAIL:  The kind is ".*HINT:  Pass 1 to 63 characters/s, 'kind ' . JSON::PP->new->ascii->encode([$_]))
  for sort keys %no_kinds;

# No other text: each character of a text replaced by each other one, and random texts, with every first character.
is(query(<<'SQL'), '806|0|5000|0', 'no other text is one');
CREATE FUNCTION digits() RETURNS text[] IMMUTABLE LANGUAGE sql RETURN string_to_array('0123456789abcdefghjkmnpqrstvwxyz', NULL);
WITH text (text) AS (SELECT public_id('order', 4032112536055714817)),
     changed AS (SELECT overlay(text PLACING digit FROM place) AS text FROM text, generate_series(7, 32) place, unnest(digits()) digit
                 WHERE substr(text, place, 1) <> digit)
SELECT (SELECT count(*) FROM changed), (SELECT count(private_id('order', text)) FROM changed), count(*), count(private_id('order', made_up))
FROM (SELECT 'order_' || (SELECT string_agg((digits())[1 + floor(random() * 32)::int], '') FROM generate_series(1, 26) WHERE n > 0) AS made_up
      FROM generate_series(1, 5000) n) s
SQL

# Each encoder: all vectors in both directions, and random ids with a key that the database has made.
query(q(TRUNCATE public_id_keys; SELECT new_public_id_key(), new_public_id_key()));
my $master = query(q(SELECT encode(master, 'hex') FROM public_id_keys WHERE number = 1));
my @random = map { [ split /\|/ ] } split /\n/, query(<<'SQL');
SELECT id, public_id('order', id) FROM (SELECT (random() * 18446744073709551615::float8 - 9223372036854775808)::numeric AS n FROM generate_series(1, 500)) s,
LATERAL (SELECT greatest(least(n, 9223372036854775807), -9223372036854775808)::bigint) i (id)
SQL

sub hex_of { my ($text) = @_; utf8::encode($text); return unpack 'H*', $text }

sub answers
{
	my ($command, $keys, @requests) = @_;
	my ($out, $err) = ('', '');
	my $in = join '', "$keys\n", map { join("\t", @$_) . "\n" } @requests;
	IPC::Run::run($command, '<', \$in, '>', \$out, '2>', \$err) or die "@$command: $err";
	return [ split /\n/, $out ];
}

sub encodes_alike
{
	my ($name, @command) = @_;
	my (@requests, @expected);
	for my $vector (@{ $json->{vectors} })
	{
		push @requests, [ 'encode', $vector->{key}, hex_of($vector->{kind}), $vector->{id} ], [ 'decode', '', map { hex_of($vector->{$_}) } qw(kind text) ];
		push @expected, @$vector{qw(text id)};
	}
	push @requests, map { [ 'decode', '', hex_of($_->{kind}), hex_of($_->{text}) ] } @{ $json->{refused} };
	push @expected, map { 'null' } @{ $json->{refused} };
	push @requests, map { [ 'encode', 0, hex_of($_), 5 ] } sort keys %no_kinds;
	push @expected, map { 'refused' } keys %no_kinds;
	my $vector_keys = join ' ', map { "$_->{number}=$_->{master}" } @{ $json->{keys} };
	is_deeply(answers(\@command, $vector_keys, @requests), \@expected, "$name: " . @expected . ' answers are those of the vectors');
	is_deeply(answers(\@command, "1=$master", map { ([ 'encode', 1, hex_of('order'), $_->[0] ], [ 'decode', '', hex_of('order'), hex_of($_->[1]) ]) } @random),
		[ map { ($_->[1], $_->[0]) } @random ], "$name: and of " . @random . ' random ids those of the database');
	return;
}
encodes_alike('Python', qw(python3 contrib/public_ids/t/drivers/driver.py));
encodes_alike('JavaScript', qw(node contrib/public_ids/t/drivers/driver.js));
SKIP:
{
	skip 'the compilers of Go and Java take long, see make test-full', 1 unless $ENV{FULL};
	my $built = PostgreSQL::Test::Utils::tempdir();
	{
		local @ENV{qw(GO111MODULE GOFLAGS)} = ('off', '');
		copy($_, $built) or die "$_: $!" for 'contrib/public_ids/t/drivers/driver.go', 'contrib/public_ids/public_ids.go';
		run_log([ qw(go build -o), "$built/driver", "$built/driver.go", "$built/public_ids.go" ]) or die 'no driver.go';
	}
	encodes_alike('Go', "$built/driver");
	run_log([ qw(javac -d), $built, 'contrib/public_ids/t/drivers/Driver.java', 'contrib/public_ids/PublicIds.java' ]) or die 'no Driver.java';
	encodes_alike('Java', qw(java -cp), $built, 'Driver');
}

# Keys rotate. A fifth key is refused until the HINT's command retires the oldest; then its texts are not read by any
# key.
query(q(TRUNCATE public_id_keys; CREATE TABLE texts (key int, text text)));
my $made = q(SELECT new_public_id_key() AS key \gset
INSERT INTO texts VALUES (:key, public_id('order', 5)));
my $read = q(SELECT string_agg(key || ' ' || COALESCE(private_id('order', text)::text, 'refused'), ', ' ORDER BY ctid) FROM texts);
query($made) for 0 .. 3;
is(query($read), '0 5, 1 5, 2 5, 3 5', 'texts of four keys');
is(query(q(SELECT count(DISTINCT text) FROM texts)), 4, 'all different');
my $fifth = refused('SELECT ids.new_public_id_key()');
like($fifth, qr/53400: there are four keys of public ids.*DETAIL:  The oldest key has generation 0 and number 0\..*HINT:/s, 'no fifth');
my ($hint) = $fifth =~ /HINT: .* run (DELETE FROM [^\n]*)\.$/m;
query($hint);
is(query($read), '0 refused, 1 5, 2 5, 3 5', 'the hint retires the oldest');
query($made);
is(query($read), '0 refused, 1 5, 2 5, 3 5, 0 5', 'whose number the next key has');
# The functions survive other names of schemas, and a dump has the keys.
query(q(ALTER SCHEMA ids RENAME TO renamed; CREATE SCHEMA ids; GRANT USAGE ON SCHEMA ids TO "Ids Owner"; ALTER EXTENSION pgcrypto SET SCHEMA ids; CREATE TABLE ids.public_id_keys (number int)));
my $again = q(SELECT renamed.private_id('order', renamed.public_id('order', 5)));
is($node->safe_psql('shop', $again), 5, 'another name of the schema, and pgcrypto in another schema');
like(refused('DROP EXTENSION pgcrypto'), qr/2BP01/, 'pgcrypto is not dropped without them');
$node->stop;
done_testing();
