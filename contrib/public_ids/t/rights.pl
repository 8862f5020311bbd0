# contrib/public_ids/public_ids.sql: contrib/public_ids/README.md as written; which role can do what; keys can be seen where the page says,
# and nowhere else; and no planted code runs during its installation or its calls.
use JSON::PP;
use Docs;
use Plants;
use ShardidTest;

my $node = PostgreSQL::Test::Cluster->new('public_ids');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nshared_preload_libraries = 'pg_stat_statements, auto_explain'\npg_stat_statements.track = all\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE shop');
my $log = $node->logfile;
my $page = 'contrib/public_ids/README.md';
sub query { return $node->safe_psql('shop', $_[0]) }
sub refused { my (undef, undef, $stderr) = $node->psql('shop', "\\set VERBOSITY verbose\n$_[0]"); return $stderr }
sub loading
{
	my ($path) = @_;
	my $output = '';
	IPC::Run::run([ 'psql', '-Xq', '-d', $node->connstr('shop') . " options='-csearch_path=$path'", '-f', 'contrib/public_ids/public_ids.sql' ], '>', \$output, '2>&1');
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
my $key = JSON::PP->new->decode(slurp_file('contrib/public_ids/vectors.json'))->{keys}[0]{master};
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
like(refused("SET ROLE $_->[0]; $_->[1]"), qr/42501: permission denied for (table|function)/, "$_->[0]: $_->[1]")
  for (map { [ 'app', $_ ] } 'SELECT ids.new_public_id_key()', 'SELECT ids.public_id_digits(0, \'\')', 'SELECT * FROM ids.public_id_keys',
	'BEGIN; LOCK TABLE ids.public_id_keys IN ACCESS SHARE MODE', 'INSERT INTO ids.public_id_keys DEFAULT VALUES', 'DELETE FROM ids.public_id_keys',
	'CREATE TEMPORARY TABLE t (LIKE ids.public_id_keys)', 'SELECT n.ctid FROM ids.public_id_keys n');
query('GRANT USAGE ON SCHEMA ids TO reader');
# As a restore does where default privileges are set.
query('GRANT SELECT ON ids.public_id_keys TO reader');
is(loading('ids'), '', 'loaded again');
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
my $holder = $node->background_psql('shop');
$holder->query_safe('BEGIN; SELECT ids.new_public_id_key()');
my $said = refused("$loud SELECT ids.new_public_id_key();");
$holder->query_safe('COMMIT');
$holder->quit;
like($said, qr/55P03/, 'two keys at once: one waits');
$said .= refused("\\set ON_ERROR_STOP off\n$loud SELECT ids.new_public_id_key(); SELECT ids.new_public_id_key(); SELECT ids.new_public_id_key(); $calls
SET client_min_messages = log; $calls; INSERT INTO ids.public_id_keys (generation) VALUES (2);
BEGIN; SET LOCAL statement_timeout = 20; SELECT count(ids.private_id('order', ids.public_id('order', n))) FROM generate_series(1, 100000) n;
ROLLBACK; SELECT length(decode('$literal', 'hex')), length('\\x$literal'::bytea) FROM orders; ANALYZE ids.public_id_keys");
like($said, qr/57014/, 'canceled within');
like($said, qr/53400/, 'no fifth key');
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
my @plants = all_plants('public', slurp_file('contrib/public_ids/public_ids.sql'));
my $planting = join ";\n", 'SET ROLE mallory', map({ $_->[1] } @plants), '';
$node->psql('shop', $planting, on_error_stop => 0, stderr => \my $clashes);
my $run = q(SELECT public_id('order', 5) IS NOT NULL, private_id('order', public_id('order', -5)), private_id('order', public_id('other', 5)) IS NULL);
cmp_ok(query(q(SELECT count(*) FROM pg_proc WHERE proowner = 'mallory'::regrole)), '>', 300, 'functions of ' . @plants . ' plants');
query('CREATE SCHEMA beside; GRANT USAGE ON SCHEMA beside TO app');
is(loading('beside,public'), '', 'the file loads among them');
query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA beside TO app');
my $is_super = q(; SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) 'mallory'::pg_catalog.name);
is(query("SET search_path = beside, public; SELECT new_public_id_key(); $run"), "0\nt|-5|t", 'its functions, too');
is(query("SELECT 1 $is_super"), "1\nf", 'and nothing planted has run');
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
$node->stop;
done_testing();
