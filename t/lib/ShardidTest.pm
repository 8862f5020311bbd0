# What the TAP tests share: clusters with the extension, clients that note what they were told, and
# one judge of ids.
package ShardidTest;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(new_node start_clients finish_clients read_told kill_node start_again
  with_fake_clock set_fake_clock create_recipe judge lead_ms);

# A started cluster with the extension in database postgres. $conf is added to postgresql.conf.
sub new_node
{
	my ($name, $conf, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%params);
	$node->append_conf('postgresql.conf', $conf // '');
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION shardid');
	return $node;
}

# Starts psql clients that run the statement over and over until their server is gone. What they are
# told, a line an id, goes to one file each, outside the server.
sub start_clients
{
	my ($node, $count, $statement, $dbname) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $connection = $node->connstr($dbname // 'postgres');
	my @clients;
	for my $i (1 .. $count)
	{
		my $told = "$dir/told.$i";
		my $pid = fork // die "fork: $!";
		if ($pid == 0)
		{
			exec 'sh', '-c', 'yes "$1" | psql -XAtq -v ON_ERROR_STOP=1 -d "$2" -f - >"$3" 2>/dev/null',
			  'sh', $statement, $connection, $told;
			die "exec: $!";
		}
		push @clients, { pid => $pid, told => $told };
	}
	return \@clients;
}

# Waits until the clients have ended. Their server must be gone.
sub finish_clients
{
	my ($clients) = @_;
	waitpid $_->{pid}, 0 for @$clients;
	return;
}

# The ids each client was told, in order; an incomplete last line is none.
sub read_told
{
	my ($clients) = @_;
	my @told;
	for my $client (@$clients)
	{
		my $text = slurp_file($client->{told});
		$text =~ s/[^\n]*\z//;
		push @told, [ grep { /^-?\d+$/ } split /\n/, $text ];
	}
	return \@told;
}

# SIGKILL for the postmaster and all its children at once.
sub kill_node
{
	my ($node) = @_;
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	my @children = split ' ', `ps -o pid= --ppid $postmaster`;
	kill 'KILL', $postmaster, @children;
	usleep 10_000 while grep { kill 0, $_ } @children;
	$node->{_pid} = undef;
	return;
}

# As poll_start in PostgreSQL's 017_shm.pl: what was killed may take a moment to let go.
sub start_again
{
	my ($node) = @_;
	for (1 .. 100)
	{
		return if $node->start(fail_ok => 1);
		usleep 100_000;
	}
	die "server did not start again";
}

# Runs the code with the environment in which a server started follows the clock in $file.
sub with_fake_clock
{
	my ($file, $code) = @_;
	my ($library) = glob '/usr/lib/*/faketime/libfaketime.so.1';
	die 'libfaketime is not installed' unless $library;
	local %ENV = (
		%ENV,
		LD_PRELOAD => $library,
		FAKETIME_TIMESTAMP_FILE => $file,
		FAKETIME_NO_CACHE => 1,
		FAKETIME_DONT_FAKE_MONOTONIC => 1,
		DONT_FAKE_MONOTONIC => 1,
		FAKETIME_DONT_RESET => 1);
	return $code->();
}

# Sets that clock, at once for every process that follows it: '-1h', '+2.5s', '+0'.
sub set_fake_clock
{
	my ($file, $offset) = @_;
	open my $new, '>', "$file.new" or die;
	print $new "$offset\n";
	close $new;
	rename "$file.new", $file or die;
	return;
}

# The PL/pgSQL recipe, baseline.next_id().
sub create_recipe
{
	my ($node) = @_;
	$node->safe_psql('postgres', slurp_file('bench/baseline.sql'));
	return;
}

# Counts over lists of ids, each in the order in which one client was told them: all ids, those told
# more than once, decreases within a list, and the most in one millisecond.
sub judge
{
	my ($lists) = @_;
	my (%seen, %in_millisecond);
	my %verdict = (ids => 0, twice => 0, decreases => 0, most_in_a_millisecond => 0);
	for my $list (@$lists)
	{
		my $last;
		for my $id (@$list)
		{
			$verdict{ids}++;
			$verdict{twice}++ if $seen{$id}++;
			$verdict{decreases}++ if defined $last && $id <= $last;
			my $count = ++$in_millisecond{ $id >> 23 };
			$verdict{most_in_a_millisecond} = $count if $count > $verdict{most_in_a_millisecond};
			$last = $id;
		}
	}
	return \%verdict;
}

# How far the generator is ahead of the server's clock, in milliseconds.
sub lead_ms
{
	my ($node, $generator, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', <<SQL);
SELECT (last_value >> 10) - floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 1314220021721
FROM $generator
SQL
}

1;
