# docs/reference.md compared with the catalog: the page has all functions and no other, each with its arguments,
# defaults, result and labels; every argument is in its table, and the ranges there are those that are accepted; the
# settings have the defaults, units and contexts of pg_settings. And who may set them, and where, as docs/operations.md and
# docs/development.md say.
use Docs;
use ShardidTest;

my $node = new_node('reference');
sub query { return $node->safe_psql('postgres', $_[0]) }
my $page = slurp_file('docs/reference.md');
query('CREATE EXTENSION shardid_lease CASCADE; CREATE EXTENSION shardid_admin; CREATE EXTENSION shardid_readers');

# The catalog's types and defaults, in the page's words.
my $signatures = <<'SQL';
SELECT p.pronamespace::regnamespace || '.' || p.proname || '(' || coalesce(string_agg(argument, ', ' ORDER BY n) FILTER (WHERE mode = 'i'), '') || ')'
    || CASE WHEN prokind = 'p' THEN '' WHEN 'o' = ANY (proargmodes) THEN ' → (' || string_agg(argument, ', ' ORDER BY n) FILTER (WHERE mode = 'o') || ')'
            ELSE ' → ' || CASE WHEN proretset THEN 'setof ' ELSE '' END || format_type(prorettype, NULL) END
    || ': ' || CASE provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END
    || ' PARALLEL ' || CASE proparallel WHEN 's' THEN 'SAFE' WHEN 'r' THEN 'RESTRICTED' ELSE 'UNSAFE' END
    || CASE WHEN proleakproof THEN ' LEAKPROOF' ELSE '' END || CASE WHEN proisstrict THEN '' ELSE ' not STRICT' END
FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
LEFT JOIN LATERAL (
    SELECT n, coalesce(proargmodes[n], 'i') AS mode,
           concat_ws(' ', nullif(proargnames[n], ''), format_type(type, NULL),
                     'DEFAULT ' || pg_get_function_arg_default(p.oid, n::int)) AS argument
    FROM unnest(coalesce(proallargtypes, proargtypes::oid[])) WITH ORDINALITY u (type, n)) a ON true
WHERE d.deptype = 'e' AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('shardid', 'shardid_admin', 'shardid_lease', 'shardid_readers'))
GROUP BY p.oid
SQL
my @catalogue = map { s/'::(?:regclass|timestamp with time zone|interval|text)/'/gr =~ s/\bNULL::(?:timestamp with time zone|[\w.]+(?:\[\])?)/NULL/gr =~ s/timestamp with time zone/timestamptz/gr =~ s/\binteger\b/int/gr }
  split /\n/, query($signatures);
# Without those for the planner and for the extensions' own use.
my @support = sort map { /\.(\w+)\(internal\)/ } @catalogue;
is("@support", 'shardid_readers_support shardid_settled_below_support shardid_support', 'three functions are for the planner');
@catalogue = map { s/^\w+\.//r } grep { !/\(internal\)/ && !is_internal(/^(\w+\.\w+)/) } @catalogue;
cmp_ok(scalar @catalogue, '>', 30, @catalogue . ' functions are in the catalogue');

# The signatures of the page in one line each, with the layout's three arguments in the place of its name: "name(arguments)
# → result: labels". A line of labels holds for all signatures above it; a line of the page can have several names before
# its arguments.
my @blocks = blocks_of('docs/reference.md');
my ($layout) = map { $_->{text} =~ s/\n//r } grep { $_->{language} eq 'layout' } @blocks;
my (@signatures, @without_labels);
my @described = grep { $_->{language} eq 'signature' } @blocks;
die "line $_->{line}: no labels" for grep { $_->{text} !~ /^(?:IMMUTABLE|STABLE|VOLATILE) .*\n\z/m } @described;
for my $line (map { split /\n(?! )/, $_->{text} } @described)
{
	my ($names, $rest) = $line =~ /^([\w, ]+)(\(.*)/s;
	push @without_labels, map { $_ . $rest =~ s/\s+/ /gr =~ s/\blayout\b/$layout/r } split /, /, $names if $names;
	push @signatures, map { "$_: $line" } splice @without_labels if !$names;
}
is(join("\n", sort @signatures), join("\n", sort @catalogue), 'the page has just these, as they are');

# The index at its beginning, where uuid_v1_... are all functions that begin so.
my ($index) = $page =~ /^## Find a function\n(.*?)^## /ms;
my %names = map { /^(\w+)/ ? ($1 => 1) : () } @signatures;
my @listed = map { my $part = s/\.\.\.//r; my @all = $part eq $_ ? $part : grep { /^$part/ } keys %names; @all } $index =~ /`([\w.]+)`/g;
is(join(' ', sort @listed), join(' ', sort keys %names), 'the index has every function once, and no other');

# The rows of a table of the page, by its header's first cell.
sub rows_of
{
	my ($header) = @_;
	my ($rows) = $page =~ /^\| \Q$header\E \|[^\n]*\n\|[ |-]*\n((?:\|[^\n]*\n)+)/m or die "no table of $header";
	return map { [ map { s/^\s+|\s+$//gr } split /\|/, s/^\|//r ] } split /\n/, $rows;
}

my %range_of = map { my ($names, $range) = @$_; map { $_ => $range } $names =~ /`(\w+)`/g } rows_of('argument');
my %in_catalogue = map { $_ => 1 } map { /(?:\(|, )(\w+) (?=\w)/g } map { s/ → .*//r =~ s/DEFAULT [^,)]*//gr } @catalogue;
is(join(' ', sort keys %range_of), join(' ', sort keys %in_catalogue), 'the table of arguments has every one, and no other');

# For each argument a call with %s as its value; all other arguments are valid.
my %call_with = (
	shard => 'next_id(%s)',
	sequence => 'id_from_parts(now(), 0, %s)',
	shard_bits => 'id_shard(0, %s, 0)',
	sequence_bits => 'id_shard(0, 0, %s)',
	clkseq => q(uuid_v1_from('2020-01-01', %s, '00:00:00:00:00:01')),
	hundred_ns => q(uuid_v6_from('2020-01-01', 0, '00:00:00:00:00:01', %s)),
	digits => 'scatter_digits(1234567890123456789, %s)',
	bits => 'scatter_bits(0, %s)',
	machine => q(objectid_from('2020-01-01', %s, 0, 0)),
	pid => q(objectid_from('2020-01-01', 0, %s, 0)),
	counter => q(objectid_from('2020-01-01', 0, 0, %s)));
query('\i sql/try.psql');
my (@tries, @wanted);
for my $argument (sort keys %range_of)
{
	my ($first, $last) = $range_of{$argument} =~ /\b(\d+) to (\d+(?:\^${argument}_bits - 1)?)/ or next;
	$last = 2**{ shard => 13, sequence => 10 }->{$argument} - 1 if $last =~ /_bits/;
	die "no call with $argument" unless $call_with{$argument};
	push @tries, map { "('$argument', \$\$SELECT " . sprintf($call_with{$argument}, $_) . '$$)' } $first - 1, $first, $last, $last + 1;
	push @wanted, map { "$argument|$_" } 22003, 'no error', 'no error', 22003;
}
is(query(q{SELECT argument, split_part(try(call), ' |', 1) FROM (VALUES } . join(', ', @tries) . ') v (argument, call)'), join("\n", @wanted), 'the ranges of the page');
is(@wanted / 4, keys %call_with, 'every range of numbers was tried');

# Settings. PostgreSQL shows them as the page does.
my $settings = join "\n", sort map { my ($name, @rest) = @$_[ 0 .. 3 ]; join '|', $name =~ s/`//gr, @rest } rows_of('setting');
is($settings, query(<<'SQL'), 'the settings are those of pg_settings');
LOAD 'shardid_lease';
SELECT name, current_setting(name), unit, context FROM pg_settings WHERE name ~ '^shardid(_lease)?[.]' ORDER BY name
SQL

# What next_id() without a shard says to do, and what docs/operations.md says of who may set what, by the owner of the
# database and a superuser, before and after the library is loaded.
sub shop { return $node->safe_psql('shop', $_[0]) }
query('CREATE ROLE shop_owner LOGIN; CREATE DATABASE shop OWNER shop_owner');
shop('CREATE EXTENSION shardid');
sub as_owner { return $node->psql('shop', $_[0], extra_params => [ '-U', 'shop_owner' ]) }

my $drawn = 'SELECT id_shard(next_id());';
my ($hint) = (as_owner($drawn))[2] =~ /HINT:  (.*)/;
my ($for_session, $for_database) = $hint =~ /\b(SET shardid\.shard_id = )\.\.\..*\b(ALTER DATABASE shop SET shardid\.shard_id = )\.\.\./;
is((as_owner("$for_session 7; $drawn"))[1], 7, "the hint's SET works: $hint");
my @answer = as_owner("\\set ON_ERROR_STOP 0\n$drawn\n$for_database 8; $for_session 7; $drawn");
is($answer[1], 7, 'and its ALTER DATABASE, beside it in a session that next_id() has refused');
is((as_owner($drawn))[1], 8, 'which shows in the next one');
query('ALTER DATABASE shop RESET ALL');

# In a session that has not used the extension.
my $shard_id = 'ALTER DATABASE shop SET shardid.shard_id = 5';
my $max_lead = "ALTER DATABASE shop SET shardid.max_lead = '40d'";
my $system = 'ALTER SYSTEM SET shardid.shard_id = 5';
sub sqlstate_of { return $_[0] =~ /ERROR:\s+(\w+)/ ? $1 : 'works' }
my %before_loading = map { my ($as, $sql) = @$_; ("$as->[0]: $sql" => sqlstate_of(($as->[1]->("\\set VERBOSITY sqlstate\n$sql"))[2])) }
  map { my $as = $_; map { [ $as, $_ ] } $system, 'SHOW shardid.shard_id', $shard_id, 'ALTER ROLE shop_owner SET shardid.shard_id = 5' }
  [ owner => \&as_owner ], [ superuser => sub { $node->psql('shop', $_[0]) } ];
my $unknown = query('SHOW server_version_num') < 170000 ? '42704' : 'works';
is_deeply(
	\%before_loading,
	{
		"owner: $shard_id" => '42501', 'owner: ALTER ROLE shop_owner SET shardid.shard_id = 5' => '42501',
		"owner: $system" => '42501', 'owner: SHOW shardid.shard_id' => '42704',
		"superuser: $shard_id" => 'works', 'superuser: ALTER ROLE shop_owner SET shardid.shard_id = 5' => 'works',
		"superuser: $system" => $unknown, 'superuser: SHOW shardid.shard_id' => '42704' },
	'before the library is loaded, as the page says');
query('ALTER DATABASE shop RESET ALL; ALTER ROLE shop_owner RESET ALL');
query('ALTER SYSTEM RESET ALL');
is((as_owner((command_of('operations.md', 'SELECT ids.id_shard(0)') =~ s/ids\.//r) . "; $shard_id"))[0], 0, 'unless the session has used the extension');
is((as_owner($drawn))[1], 5, 'which shows');
like((as_owner("SELECT id_shard(0); $max_lead"))[2], qr/permission denied to set parameter "shardid.max_lead"/, 'max_lead is the superuser\'s');
query(command_of('operations.md', 'GRANT SET ON PARAMETER shardid.shard_id'));
is((as_owner("$shard_id; $max_lead"))[0], 0, 'with GRANT SET the owner may set both in any session');
is((as_owner("$drawn SHOW shardid.max_lead"))[1], "5\n40d", 'which shows');
query('ALTER DATABASE shop RESET ALL');
is((as_owner($drawn))[0], 3, 'no shard is set again');
query(join ';', map { command_of('operations.md', $_) } q(LOAD 'shardid'), 'ALTER SYSTEM SET shardid.shard_id', 'SELECT pg_reload_conf()');
$node->poll_query_until('shop', 'SELECT id_shard(next_id())', '5');
is((as_owner($drawn))[1], 5, 'ALTER SYSTEM by a superuser, who loads the extension, holds for all');


# docs/development.md: the number in the server's command, or in its configuration, is that of all its databases.
my $number = 'SELECT ids.id_shard(ids.next_id())';
my ($setting) = block_of('development.md', 'compose') =~ /^    command: postgres (-c \S+)$/m;
my ($image) = grep { $_->{language} eq 'dockerfile' } blocks_of('docs/development.md');
is($image->{text} =~ s/^COPY \Kshardid(?= )/./mr =~ s/^COPY init.*\n//mr, block_of('install.md', 'image') =~ s/postgres:18/postgres:17/gr,
	'the image is built as on the other page');
query('DROP DATABASE shop; ALTER SYSTEM RESET ALL');
sub server { return PostgreSQL::Test::Utils::system_or_bail('pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-w', @_) }
$node->stop;
server('-o', $setting, 'start');
for my $database (qw(shop test_shop))
{
	query("CREATE DATABASE $database");
	is($node->safe_psql($database, block_of('development.md', 'development') . $number), 7, "$database: the number of the command");
}
server('stop');
server('start');
like(($node->psql('shop', $number))[2], qr/no shard is set/, 'without it no id, and the error that the page names');
query(block_of('development.md', 'development_server'));
$node->poll_query_until($_, $number, 7) or die "$_: not the number of the configuration" for 'shop', 'test_shop';
server('stop');
done_testing();
