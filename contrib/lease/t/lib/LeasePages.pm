# The set-up and the alerts of docs/several-databases.md with one role and the default lease, and the blocks and commands
# of contrib/lease/README.md and docs/operations.md, with another address of the registry.
package LeasePages;

use ShardidTest;
use Exporter 'import';
use Docs;
use Leases qw(answered let_in);

our @EXPORT = qw(start_registry start_member on_registry address block run_block every_block_has_run command generate
  refused shard_of end_window $registry $release $renew);

our $registry;
my $superuser = getpwuid($<);
my @blocks = (
	blocks_of('contrib/lease/README.md'),
	(grep { $_->{words} =~ /^(?:registry|member|watch_member|watch_registry)$/ } blocks_of('docs/several-databases.md')),
	(grep { $_->{words} eq 'take_over' } blocks_of('docs/operations.md')));
for my $block (@blocks)
{
	s/^CREATE DATABASE registry;\n\\c registry\n//, s/^CREATE ROLE (?:lisbon|cairo)_member .*\n//mg, s/, lease => '10 minutes'//,
	  s/, lisbon_member, cairo_member//, s/(?:oslo|lisbon)_member/shop_member/g, s/secret[12]/secret/,
	  s/'150 s'/'15 s'/, s/host 'registry1\.example,registry2\.example'/host 'registry.example'/, s/, target_session_attrs 'read-write', tcp_user_timeout '\d+'// for $block->{text};
}
my %has_run;
$ENV{PGTZ} = 'UTC';
$ENV{PGOPTIONS} = '-c client_min_messages=warning';

sub trimmed { return $_[0] =~ s/[ \t]+$//mgr =~ s/\n+\z//r }
sub on_registry { return $registry->safe_psql('registry', $_[0]) }
sub address { return sprintf "host '%s', port '%s'", $registry->host, $registry->port }
sub command { return command_of('contrib/lease/README.md', $_[0]) }

# As if time had passed until the end of the shard's last window.
sub end_window
{
	my ($shard, $space) = (@_, 'shop');
	return on_registry("UPDATE shardid_lease.granted_shard SET until_ms = from_ms - 60000 WHERE space = '$space' AND shard = $shard");
}

our $release = command('SELECT shardid_lease.release_shard()');
our $renew = command('SELECT shardid_lease.renew_leases()');

# The block of this name.
sub block
{
	my ($name) = @_;
	my ($n) = grep { $blocks[$_]{words} eq $name } 0 .. $#blocks;
	die "the pages have no block $name" unless defined $n;
	$has_run{$name} = 1;
	return $blocks[$n];
}

# Runs a block by psql, without any error or warning.
sub run_block
{
	my ($node, $dbname, $name, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $block = block($name);
	my $sql = ($params{before} // '') . $block->{text} =~ s/host 'registry\.example'/address()/er;
	my ($out, $err) = ('', '');
	my @command = ('psql', '-Xq', '-U', $params{user} // $superuser, '-d', $node->connstr($dbname));
	IPC::Run::run([ @command, $params{rows} ? '-At' : () ], '<', \$sql, '>', \$out, '2>', \$err);
	is($err, '', "$name: runs");
	return trimmed($out);
}

# Whether the test ran every block, except these, which another test runs.
sub every_block_has_run
{
	my (@others) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %is_known = (%has_run, map { $_ => 1 } @others);
	return is_deeply([ grep { $_ && !$is_known{$_} } map { $_->{words} } @blocks ], [], 'every block of the pages was run');
}

sub generate { return $_[0]->safe_psql($_[1] // 'shop', 'SELECT ids.next_id()') }

# The error of a call that is not allowed.
sub refused
{
	my ($node, $dbname, $call) = @_;
	$call //= 'SELECT ids.next_id()';
	return answered(sub {
		my ($status, $out, $err) = $node->psql($dbname // 'shop', "SET shardid_lease.timeout = '2s'; $call");
		return $out eq '' ? $err =~ s/^psql:<stdin>:1: //r : "generated $out";
	});
}

sub shard_of { return ($_[0] >> 10) & 8191 }

# The registry, which asks its members for their passwords.
sub start_registry
{
	$registry = new_node('registry', undef, allows_streaming => 1);
	$registry->safe_psql('postgres', 'CREATE DATABASE registry');
	run_block($registry, 'registry', 'registry');
	let_in($registry, "local all shop_member,copy_member scram-sha-256\n");
	return;
}

# A server with a member, the database shop.
sub start_member
{
	my $member = new_node('member', "wal_keep_size = 64MB\n", allows_streaming => 1);
	$member->safe_psql('postgres', 'CREATE DATABASE shop');
	is(run_block($member, 'shop', 'member', rows => 1), 0, 'a member leases the lowest shard');
	return $member;
}

1;
