# contrib/public_ids/public_ids.sql: contrib/public_ids/README.md as written; which role can do what; keys can be seen where the page says,
# and nowhere else; and no planted code runs during its installation or its calls. Its texts are those of
# contrib/public_ids/vectors.json, which AES of openssl and HMAC of Python have made, and of the encoders there, in both
# directions, in Python and JavaScript; no other text is accepted; keys rotate; schemas can be renamed.
use JSON::PP;
use Docs;
use Plants;
use ShardidTest;

my $node = PostgreSQL::Test::Cluster->new('public_ids');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_preload_libraries = 'pg_stat_statements, auto_explain'\npg_stat_statements.track = all\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE shop');
my $database = 'shop';
my $log = $node->logfile;
my $page = 'contrib/public_ids/README.md';
sub query { return $node->safe_psql($database, $_[0]) }
sub refused { return said_of($node, $_[0], $database) }
sub loading
{
	my ($path, @options) = @_;
	my $output = '';
	IPC::Run::run([ 'psql', '-Xq', @options, '-d', $node->connstr($database) . " options='-csearch_path=$path'", '-f', 'contrib/public_ids/public_ids.sql' ], '>', \$output, '2>&1');
	return $output;
}

# Default privileges do not open the tables and functions to other roles.
query('CREATE ROLE reader; CREATE ROLE mallory; CREATE EXTENSION pg_stat_statements');
query("ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO reader") for qw(TABLES FUNCTIONS);

# The page, from its beginning.
{
	local @ENV{qw(PGHOST PGPORT)} = ($node->host, $node->port);
	run_log([ 'bash', '-ec', block_of($page, 'public_ids_load') ]) or die 'the page does not load it';
}
query('CREATE ROLE app');
is(query(block_of($page, 'public_ids_first')), 0, 'a key, and rights');
my $json = JSON::PP->new->utf8->decode(slurp_file('contrib/public_ids/vectors.json'));
my $key = $json->{keys}[0]{master};
# Without shardid.
query(block_of($page, 'public_ids_column') =~ s/ DEFAULT ids\.next_id\(\)//r);
query("INSERT INTO orders VALUES (4032112536055714817, 'lamp');
GRANT SELECT ON orders TO app; UPDATE ids.public_id_keys SET master = decode('$key', 'hex')");
is(query('SET ROLE app; ' . block_of($page, 'public_ids_use')), "order_2byvtrvhf67v4wt2je7kqpqhq2|lamp\nlamp", 'the text of the page, as app');
my $upper = q(SELECT ids.private_id('order', lower('ORDER_2BYVTRVHF67V4WT2JE7KQPQHQ2')));
is(query($upper), '4032112536055714817', 'typed in upper case');
is(query(command_of($page, 'SELECT ids.new_public_id_key')), 1, 'another key');
is(query($upper), '4032112536055714817', 'old texts stay valid');
query(block_of($page, 'public_ids_retire'));
is(query("$upper; SELECT count(*) FROM ids.public_id_keys"), "\n1", 'until their key is deleted');

# Rights.
my @forbidden = ('SELECT ids.new_public_id_key()', 'SELECT ids.public_id_digits(0, \'\')', 'SELECT * FROM ids.public_id_keys',
	'BEGIN; LOCK TABLE ids.public_id_keys IN ACCESS SHARE MODE; ROLLBACK', 'INSERT INTO ids.public_id_keys DEFAULT VALUES',
	'DELETE FROM ids.public_id_keys', 'CREATE TEMPORARY TABLE t (LIKE ids.public_id_keys)', 'SELECT n.ctid FROM ids.public_id_keys n');
is(() = refused("\\set ON_ERROR_STOP off\n" . join ";\n", 'SET ROLE app', @forbidden, '') =~ /ERROR:  42501: permission denied for (?:table|function)/g,
	scalar @forbidden, "app may do none of: @forbidden");
query('GRANT USAGE ON SCHEMA ids TO reader');
# As a restore does where default privileges are set.
query('GRANT SELECT ON ids.public_id_keys TO reader');
{
	local $ENV{PGOPTIONS} = '-c quote_all_identifiers=on';
	is(loading('ids'), '', 'loaded again');
}
like(refused('SET ROLE reader; TABLE ids.public_id_keys'), qr/42501: permission denied for table/, 'which closes the table again');
is(query(q(SET ROLE app; SELECT ids.private_id('order', ids.public_id('order', 5)))), 5, 'rights of roles stay');

# Where keys could be seen: everything that a server can log while keys are made, used, refused, waited for and canceled. A
# literal in a query shows that the search works.
my $literal = 'a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90';
my $loud = q(SET log_min_messages = debug5; SET log_min_error_statement = debug5; SET log_statement = 'all'; SET log_error_verbosity = verbose;
SET debug_print_parse = on; SET debug_print_rewritten = on; SET debug_print_plan = on; SET log_parameter_max_length_on_error = -1;
SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET auto_explain.log_verbose = on;
SET auto_explain.log_analyze = on; SET lock_timeout = '50ms';);
my $calls = q(SELECT ids.public_id('order', id) FROM orders; SELECT * FROM orders WHERE id = ids.private_id('order', ids.public_id('order', id));
EXPLAIN (ANALYZE, VERBOSE) SELECT ids.private_id('order', ids.public_id('order', 5)); SELECT ids.public_id('O', 5););
my $from = -s $log;
my $holder = open_session($node->connstr('shop'));
ask_safe($holder, 'BEGIN; SELECT ids.new_public_id_key();');
my $said = refused("$loud SELECT ids.new_public_id_key();");
ask_safe($holder, 'COMMIT;');
close_session($holder);
like($said, qr/55P03/, 'two keys at once: one waits');
$said .= refused("\\set ON_ERROR_STOP off\n$loud SELECT ids.new_public_id_key(); SELECT ids.new_public_id_key(); SELECT ids.new_public_id_key(); $calls
SET client_min_messages = log; $calls; INSERT INTO ids.public_id_keys (generation) VALUES (2);
BEGIN; SET LOCAL statement_timeout = 20; SELECT count(ids.private_id('order', ids.public_id('order', n))) FROM generate_series(1, 100000) n;
ROLLBACK; SELECT length(decode('$literal', 'hex')), length('\\x$literal'::bytea) FROM orders; ANALYZE ids.public_id_keys");
like($said, qr/57014/, 'canceled within');
my @keys = split /\n/, query(q(SELECT encode(master, 'hex') FROM ids.public_id_keys UNION ALL
SELECT encode(substr(hmac(bytea 'shardid public id 1:order', master, 'sha256'), 1, 16), 'hex') FROM ids.public_id_keys));
is(scalar @keys, 8, 'four keys, and those of the kind');
# A logged plan has each byte as a number, on several lines.
sub seen { my ($text, $key) = @_; $text =~ s/\s+/ /g; return $text =~ /\Q$key\E/i || index($text, join ' ', unpack 'c8', pack 'H*', $key) >= 0 }
my %texts = (
	log => slurp_file($log, $from), errors => $said,
	'pg_stat_statements and pg_stat_activity' => query('SELECT query FROM pg_stat_statements UNION ALL SELECT query FROM pg_stat_activity'),
	statistics => query(q(SELECT s::text FROM pg_statistic s WHERE starelid = 'ids.public_id_keys'::regclass)));
ok(seen($texts{log}, $literal), 'a key that is typed is in the log');
ok(index($texts{log} =~ s/\s+/ /gr, join ' ', unpack 'c8', pack 'H*', $literal) >= 0, 'and in a plan there');
ok($texts{log} =~ /Scan.* on ids\.public_id_keys/, 'the log has plans of what the functions run');
isnt($texts{statistics}, '', 'there are statistics');
for my $place (sort keys %texts)
{
	is(scalar(grep { seen($texts{$place}, $_) } @keys), 0, "no key in: $place");
}

# Plants: functions, operators, types and relations with every name of the script, in the schema of pgcrypto, where
# mallory may create objects.
query('GRANT CREATE ON SCHEMA public TO mallory');
my @plants = all_plants('public', script_with_includes('contrib/public_ids/public_ids.sql'));
my $planting = join ";\n", 'SET ROLE mallory', map({ $_->[1] } @plants), '';
$node->psql('shop', $planting, on_error_stop => 0, stderr => \my $clashes);
my $run = q(SELECT public_id('order', 5) IS NOT NULL, private_id('order', public_id('order', -5)), private_id('order', public_id('other', 5)) IS NULL);
cmp_ok(query(q(SELECT count(*) FROM pg_proc WHERE proowner = 'mallory'::regrole)), '>', 300, 'functions of ' . @plants . ' plants');
query('CREATE SCHEMA beside; GRANT USAGE ON SCHEMA beside TO app');
is(loading('beside,public'), '', 'the file loads among them');
query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA beside TO app');
is(query("SET search_path = beside, public; SELECT new_public_id_key(); $run"), "0\nt|-5|t", 'its functions, too');
is(query(q(SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory')), 'f', 'and nothing planted has run');
is(query(<<'SQL'), 't|-5', 'nor what a caller has in its own schemas');
SET ROLE app;
CREATE TEMPORARY TABLE public_id_keys (generation bigint, number int, master bytea);
INSERT INTO public_id_keys VALUES (9, 0, '\x00');
CREATE FUNCTION pg_temp.encrypt(bytea, bytea, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea';
SET search_path = pg_temp, public, pg_catalog;
SELECT beside.public_id('order'::pg_catalog.text, 5::pg_catalog.int8) IS NOT NULL, beside.private_id('order'::pg_catalog.text, beside.public_id('order'::pg_catalog.text, (-5)::pg_catalog.int8));
SQL

# It does not load with another's pgcrypto. contrib/portable/t/rights.pl has the schemas into which it does not.
query('CREATE SCHEMA late');
query('ALTER FUNCTION public.decrypt(bytea, bytea, text) OWNER TO mallory');
like(loading('late'), qr/function "decrypt\(bytea,bytea,text\)" in schema "public" is not the one of pgcrypto.*DETAIL:  Its owner is "mallory".*HINT/s, 'pgcrypto of another role');
query('SET client_min_messages = error; DROP EXTENSION pgcrypto CASCADE');
like(loading('late'), qr/the extension pgcrypto is not in this database.*HINT:  Run CREATE EXTENSION pgcrypto\./s, 'without pgcrypto');

# Next to the extension shardid, whose sequence belongs to pg_database_owner, by the owner of the database and by a superuser.
query('ALTER ROLE mallory LOGIN');
for my $role ('mallory', query('SELECT current_user'))
{
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS next_to; CREATE DATABASE next_to OWNER mallory');
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, $role);
	my $load = block_of($page, 'public_ids_load') =~ s/-d shop/-d next_to/gr;
	is(qx(psql -Xqd next_to -c 'CREATE SCHEMA ids' -c 'CREATE EXTENSION shardid SCHEMA ids' 2>&1; (set -e; $load) 2>&1 | grep -A9 ERROR),
		'', "into the extension's schema, as $role");
}

# The texts, in another database, by a role without other rights, whose name is quoted.
$database = 'texts';
$node->safe_psql('postgres', 'CREATE DATABASE texts; CREATE ROLE "Ids Owner" LOGIN; ALTER DATABASE texts SET search_path = ids');
query('CREATE EXTENSION pgcrypto SCHEMA public; CREATE SCHEMA ids AUTHORIZATION "Ids Owner"');
is(loading('ids', '-U', 'Ids Owner'), '', 'it loads');

# Without a key.
my $kind_and_zeros = q('order', 'order_) . '0' x 26 . q(');
for my $call (q(ids.public_id('order', 5)), "ids.private_id($kind_and_zeros)")
{
	my ($hint) = refused("SELECT $call") =~ /55000: there is no key of public ids.*HINT:  As the owner of these functions, run (SELECT [^\n]*)\.$/ms;
	is(query("BEGIN; $hint; SELECT ($call)::text IS NULL; ROLLBACK"), "0\n" . ($call =~ /public_id/ ? 'f' : 't'), "$call: the hint works");
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
is(query(<<'SQL'), '806|0|500|0', 'no other text is one');
CREATE FUNCTION digits() RETURNS text[] IMMUTABLE LANGUAGE sql RETURN string_to_array('0123456789abcdefghjkmnpqrstvwxyz', NULL);
WITH text (text) AS (SELECT public_id('order', 4032112536055714817)),
     changed AS (SELECT overlay(text PLACING digit FROM place) AS text FROM text, generate_series(7, 32) place, unnest(digits()) digit
                 WHERE substr(text, place, 1) <> digit)
SELECT (SELECT count(*) FROM changed), (SELECT count(private_id('order', text)) FROM changed), count(*), count(private_id('order', made_up))
FROM (SELECT 'order_' || (SELECT string_agg((digits())[1 + floor(random() * 32)::int], '') FROM generate_series(1, 26) WHERE n > 0) AS made_up
      FROM generate_series(1, 500) n) s
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

# Keys rotate. A fifth key is refused until the HINT's command retires the oldest; then its texts are not read by any
# key.
query(q(TRUNCATE public_id_keys; CREATE TABLE texts (key int, text text)));
my $made = q(SELECT new_public_id_key() AS key \gset
INSERT INTO texts VALUES (:key, public_id('order', 5)));
my $read = q(SELECT string_agg(key || ' ' || COALESCE(private_id('order', text)::text, 'refused'), ', ' ORDER BY ctid) FROM texts);
query($made) for 0 .. 3;
is(query("$read; SELECT count(DISTINCT text) FROM texts"), "0 5, 1 5, 2 5, 3 5\n4", 'different texts of four keys');
my $fifth = refused('SELECT ids.new_public_id_key()');
like($fifth, qr/53400: there are four keys of public ids.*DETAIL:  The oldest key has generation 0 and number 0\..*HINT:/s, 'no fifth');
my ($hint) = $fifth =~ /HINT: .* run (DELETE FROM [^\n]*)\.$/m;
query($hint);
is(query($read), '0 refused, 1 5, 2 5, 3 5', 'the hint retires the oldest');
query($made);
is(query($read), '0 refused, 1 5, 2 5, 3 5, 0 5', 'whose number the next key has');
# The functions survive other names of schemas.
query(q(ALTER SCHEMA ids RENAME TO renamed; CREATE SCHEMA ids; GRANT USAGE ON SCHEMA ids TO "Ids Owner"; ALTER EXTENSION pgcrypto SET SCHEMA ids; CREATE TABLE ids.public_id_keys (number int)));
my $again = q(SELECT renamed.private_id('order', renamed.public_id('order', 5)));
is(query($again), 5, 'another name of the schema, and pgcrypto in another schema');
like(refused('DROP EXTENSION pgcrypto'), qr/2BP01/, 'pgcrypto is not dropped without them');
$node->stop;
done_testing();
