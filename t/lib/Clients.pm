# What the tests of client programs share: their databases, their output, and what docs/clients.md says they receive.
package Clients;

use ShardidTest;
use Exporter 'import';
use File::Copy;
use Test::More ();

our @EXPORT = qw(clients_node new_database on said_by client gets_as_page_says page_names page_names_release are_stored are_in_shards fetched_by_npm);

my $exact = '4032112536055714817';
my $node;

# The server; the environment leads all programs that are started from now on to it.
sub clients_node
{
	my ($name, $conf) = @_;
	$node = new_node($name, "autovacuum = off\n" . ($conf // ''));
	%ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PGUSER => scalar getpwuid($<),
		PYTHONPATH => 't/clients:contrib/django',
		PYTHONDONTWRITEBYTECODE => 1);
	return $node;
}

# Runs SQL in the database that the programs connect to.
sub on { return $node->safe_psql($ENV{PGDATABASE}, $_[0]) }

# Creates the database that programs connect to from now on, with the files of t/clients.
sub new_database
{
	my ($database, @files) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$ENV{PGDATABASE} = $database;
	on(slurp_file("t/clients/$_") =~ s/ALTER DATABASE \Kshop/$database/r) for @files;
	return;
}

# A program's output: a list for each name.
sub said_by
{
	my (@command) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run(\@command, '>', \$out, '2>', \$err) or die "@command: $err";
	return { map { my ($name, @values) = split /\t/; $name => \@values } split /\n/, $out };
}

# Runs a client's program, with the assertions that apply to each; returns its output. $in_table: its name in the table of
# the page, if that is another one.
sub client
{
	my ($client, $table, $command, $in_table) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $said = said_by(@$command);
	my @versions = @{ $said->{version} // [] };
	$command->[0] eq 'node' ? page_names($client, @versions) : page_names_release($client, @versions) if @versions;
	gets_as_page_says($in_table // $client, $said->{type}[0], $said->{exact}[0]);
	are_stored($client, $table, 0, $said->{created}[0], @{ $said->{several} // [] });
	Test::More::is($said->{found}[0], 'Ada', "$client: found by its id") if $said->{found};
	return $said;
}

# Tests that this client's row in the page's table names the type that a program received, and what became of the id
# that needs all digits.
sub gets_as_page_says
{
	my ($client, $type, $got) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($row) = slurp_file('docs/clients.md') =~ /^\| (?:[^|]+; )?\Q$client\E(?:; [^|]+)? \| (`\w+` \| .*) \|$/m;
	my $as_got = $got eq $exact ? 'exact' : "**$got**";
	return Test::More::is($row, "`$type` | $as_got", "$client: the page says that $exact is the $type $got");
}

# Tests that the page names these versions.
sub page_names
{
	my ($client, @versions) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $page = slurp_file('docs/clients.md');
	return Test::More::is(join(' ', grep { $page !~ /\s\Q$_\E[,.;)\s]/ } @versions), '', "$client: the page names version @versions");
}

# The same for what is of a Debian release that the page names; others change their versions any day.
sub page_names_release
{
	my ($client, $version) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return unless slurp_file('/etc/os-release') =~ /^VERSION_CODENAME=(?:bookworm|trixie)$/m;
	return page_names($client, $version =~ /^(\d+\.\d+)/);
}

# Tests the ids of three rows of t/clients/sharded.sql: users 4007, 7 and 2007 are in logical shard 7.
sub are_in_shards
{
	my ($client, $table, $said) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $list = join ', ', @{ $said->{sharded} };
	return Test::More::is(on("SELECT count(*), min(ids.id_shard(id)), max(ids.id_shard(id)) FROM $table WHERE id IN ($list)"),
		'3|7|7', "$client: rows with the number of their logical shard");
}

# Tests the ids that a program received: of shard 5, increasing, above the existing ids, the same as the stored ones.
sub are_stored
{
	my ($name, $table, $above, @ids) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @all = ($above, @ids);
	Test::More::is(scalar(grep { $all[$_] <= $all[ $_ - 1 ] } 1 .. $#all), 0, "$name: each id is above the one before");
	my $list = join ', ', @ids;
	return Test::More::is(
		on(<<SQL), scalar(@ids) . '|5|5|t', "$name: " . @ids . ' ids that came back are those stored, of shard 5 and now');
SELECT count(*), min(ids.id_shard(id)), max(ids.id_shard(id)),
       bool_and(ids.id_timestamp(id) BETWEEN now() - interval '1 hour' AND now() + interval '2 s')
FROM $table WHERE id IN ($list)
SQL
}

# A copy of a directory of t/clients with its packages; or nothing, and why. package.json names what is tested, and what
# those need is fetched as of a day. npm is started in the copy: with --prefix it would also read other settings than the
# machine's.
sub fetched_by_npm
{
	my ($name) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	copy($_, $folder) or die "$_: $!" for grep { -f } glob "t/clients/$name/*";
	my ($out, $err) = ('', '');
	return $folder
	  if IPC::Run::run(
		[ qw(npm install --before=2026-11-01 --no-package-lock --ignore-scripts --no-audit --no-fund --no-update-notifier
			  --fetch-retries=1 --fetch-timeout=30000) ],
		init => sub { chdir $folder or die }, '>', \$out, '2>', \$err);
	my ($code) = $err =~ /(?:error|ERR!) code (\w+)/;
	die "npm install: $err" if ($code // '') =~ /^(?:EINTEGRITY|EUSAGE|ETARGET|ERESOLVE)$/;
	return (undef, 'npm install does not get them: ' . ($code // (split /\n/, $err)[0] // 'it says nothing'));
}

1;
