# The SQL of the pages, unchanged: each page in its order, in a database of its own with shard number 5, which an
# ordinary role owns. It has the extension in the schema ids, unless the page creates it. A block of text after a block
# of SQL is the expected output. Words after "sql": "fails" if a statement of the block is refused, "superuser" if a
# superuser runs it. Any other word is a name: the test that uses the name runs the block; tools/check/pages.py finds
# blocks that no test runs. At the end, the named blocks of tickets, and bench/pgbench.
use Docs;
use List::Util qw(max uniq);
use ShardidTest;

# Other tests contain the SQL of these pages, line by line.
my %run_elsewhere = (
	'docs/clients.md' => 't/clients',
	'contrib/admin/README.md' => 'contrib/admin/sql/partitioning.sql');

my $node = new_node('pages');
my $superuser = getpwuid($<);
sub query { return $node->safe_psql('postgres', $_[0]) }
query('CREATE ROLE shop_owner LOGIN');
$ENV{PGTZ} = 'UTC';

sub try_page
{
	my ($page) = @_;
	my @all = blocks_of($page);
	my @blocks = grep { $_->{language} eq 'sql' && $_->{words} =~ /^(?:(?:fails|superuser) ?)*$/ } @all;
	return unless @blocks;
	query('CREATE DATABASE shop OWNER shop_owner');
	my ($first) = map { $_->{text} =~ /\b(CREATE|DROP) EXTENSION/ } @blocks;
	$node->safe_psql('shop', <<'SQL', extra_params => [ '-U', 'shop_owner' ]) unless ($first // '') eq 'CREATE';
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
ALTER DATABASE shop SET shardid.shard_id = 5;
ALTER DATABASE shop SET search_path = "$user", public, ids;
SQL
	# What psql prints for each block, as the database's owner, and its errors and warnings.
	my $script = '';
	for my $n (0 .. $#blocks)
	{
		my $block = "\\echo ==== $n\n\\warn ==== $n\n$blocks[$n]{text}";
		$script .= $blocks[$n]{words} =~ /superuser/ ? "\\c - $superuser\n$block\\c - shop_owner\n" : $block;
	}
	my ($all_out, $all_err) = ('', '');
	IPC::Run::run([ 'psql', '-Xq', '-U', 'shop_owner', '-d', $node->connstr('shop') ], '<', \$script, '>', \$all_out, '2>', \$all_err);
	my ($out, $err) = map { +{ /^==== (\d+)\n(.*?)(?=^==== |\z)/gms } } $all_out, $all_err;
	for my $n (0 .. $#blocks)
	{
		my $block = $blocks[$n];
		my $place = "$page, line $block->{line}";
		$block->{words} =~ /fails/ ? like($err->{$n}, qr/ERROR:/, "$place: is refused") : is($err->{$n}, '', "$place: runs");
		my ($next) = grep { $_->{line} > $block->{line} } @all;
		next unless $next && $next->{language} eq 'text' && $next->{words} =~ /^(?:example)?$/;
		my $answer = $next->{text} =~ /^ERROR/ ? $err->{$n} : $out->{$n};
		my @texts = map { s/[ \t]+$//mgr =~ s/\n+\z//r } $answer, $next->{text};
		# Ids of 19 digits and times in a "text example" differ in each run, and with them the widths of columns.
		@texts = map { s/\b\d{19}\b/id/gr =~ s/\b\d{4}-\d\d-\d\d [\d:.]+\+00/time/gr =~ s/[ -]+/ /gr } @texts if $next->{words} eq 'example';
		is($texts[0], $texts[1], "$place: answers as line $next->{line} says");
	}
	query(<<"SQL");
ALTER SYSTEM RESET ALL;
SELECT pg_reload_conf();
DROP DATABASE shop;
SELECT format('DROP OWNED BY %I', rolname), format('DROP ROLE %I', rolname) FROM pg_roles WHERE rolname !~ '^pg_' AND rolname NOT IN ('shop_owner', '$superuser') \\gexec
SQL
	return;
}

try_page($_) for grep { !$run_elsewhere{$_} } glob '*.md docs/*.md contrib/{admin,lease,portable}/README.md';

# --- The tickets and triples of examples/tickets: two servers, here databases, become three.

query("CREATE DATABASE server_$_") for 1 .. 3;
$node->safe_psql("server_$_", 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids') for 1 .. 3;

# Runs SQL of the page on a server, with the variables that it names. Returns its result or the SQLSTATE.
sub run_sql
{
	my ($server, $sql, %variables) = @_;
	my ($status, $out, $err) = $node->psql("server_$server", $sql, on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', map { ('-v', $_) } "server=$server", map { "$_=$variables{$_}" } keys %variables ]);
	return $err ? $err =~ s/.*ERROR:\s+//sr : $out;
}
my $tickets = 'examples/tickets/README.md';
sub layouts { return command_of($tickets, $_[0]) }

my @tickets;
sub draw_tickets { return push @tickets, map { split /\n/, run_sql($_, layouts("SELECT nextval('tickets')") . ' FROM generate_series(1, 50)') } @_ }

is(run_sql($_, layouts('CREATE SEQUENCE tickets INCREMENT :servers START :server'), servers => 2), '', "server $_: tickets") for 1, 2;
draw_tickets(1, 2);
my $the_maximum = layouts('ALTER SEQUENCE tickets MAXVALUE');
is(run_sql(1, $the_maximum, maximum => 10), '22023', 'a maximum below tickets that exist is refused');
my %three = (maximum => max(@tickets) + 1000, servers => 3);
is(run_sql($_, $the_maximum, %three), '', "server $_: the maximum") for 1, 2;
draw_tickets(1, 2);
my $more_servers = block_of($tickets, 'more_servers');
is(run_sql(2, $more_servers, %three), '', 'server 2 continues above the maximum');
draw_tickets(1, 2);
my $new_server = $more_servers =~ s/^ALTER .*/layouts('CREATE SEQUENCE tickets INCREMENT :servers START :first')/emr;
is(run_sql(3, $new_server, %three), '', 'server 3 begins');
draw_tickets(1 .. 3);
is(run_sql(1, $more_servers, %three), '', 'server 1 continues above the maximum');
draw_tickets(1 .. 3);
my %count;
$count{ $_ > $three{maximum} ? ($_ - $three{maximum}) % 3 : 'below' }++ for @tickets;
is_deeply(\%count, { below => 300, 1 => 50, 2 => 150, 0 => 100 }, 'each server has tickets of its own above the maximum');
is(uniq(@tickets), @tickets, 'no ticket is a duplicate');
for my $server (1 .. 3)
{
	my @triple = split /[|\n]/, run_sql($server, block_of($tickets, 'triples'));
	is("@triple[0, 1, 5, 6]", max(grep { $_ > $three{maximum} && ($_ - $three{maximum}) % 3 == $server % 3 } @tickets) + 3 . " 196 196 $server",
		"server $server: number and shard of article 14532, shard and server in the id");
	cmp_ok(abs($triple[2] / 1000 - time), '<', 600, 'the time is in milliseconds');
}

# --- The commands of bench/pgbench/README.md, and every script of that directory, by plain pgbench.

local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
my ($commands) = slurp_file('bench/pgbench/README.md') =~ /^((?:    .*\n)+)/m;
my @commands = map { s/^ +//r =~ s/ -T 10 / -t 10 /r } split /\n/, $commands;
is(scalar @commands, 4, "the README's commands");
$node->command_ok([ 'sh', '-c', $_ ], $_) for @commands;
my ($uuidv7) = $node->safe_psql('bench', q(SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'));
for my $script (sort grep { !m{/setup\.sql$} } glob 'bench/pgbench/*.sql')
{
	SKIP:
	{
		skip "$script: PostgreSQL has uuidv7() from 18 on", 1 if $script =~ /uuidv7/ && !$uuidv7;
		$node->command_ok([ qw(pgbench -n -t 5 -f), $script, 'bench' ], $script);
	}
}
is($node->safe_psql('bench', q(SELECT count(*), count(DISTINCT id) FROM by_next_id)), '5|5', 'rows with ids');
is($node->safe_psql('bench', q(SELECT count(*) FROM thousand WHERE u = baseline.form_uuid_v1(ts, 666, '44:88:99:36:57:32'))),
	1000, 'what is compared builds the same UUIDs');

$node->stop;
done_testing();
