# Makes the servers of the tests start fast.
package Initdb;

use strict;
use warnings;
use Fcntl ':flock';
use List::Util 'first';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

# initdb runs once for each version and set of options, and its result is copied; WAL segments are small, since copying empty ones
# would take much of the time. The copies have one system identifier; where a test tells servers apart by it
# ($ShardidTest::has_own_identifier), the first servers of all files share one, the second ones another, and so on.
{
	no warnings 'redefine';
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;
	*PostgreSQL::Test::Utils::system_or_bail = sub {
		my ($program, @options) = @_;
		my $data = first { defined $options[$_] && $options[$_] =~ /^(-D|--pgdata)$/ } 0 .. $#options;
		return $run->(@_) if $program ne 'initdb' || !defined $data;
		my (undef, $folder) = splice @options, $data, 2;
		return $run->('cp', '-RPp', template_of($run, @options), $folder);
	};
	# PostgreSQL's own copies a backup file by file, in Perl.
	my $copy = \&PostgreSQL::Test::RecursiveCopy::copypath;
	*PostgreSQL::Test::RecursiveCopy::copypath = sub {
		my ($from, $to, %params) = @_;
		return %params ? $copy->(@_) : $run->('cp', '-RPp', $from, $to);
	};
}

# The number of the server within this test file; some files start several at the same time.
sub next_number
{
	my $number = 1;
	$number++ until mkdir "$PostgreSQL::Test::Utils::tmp_check/identifier_$number";
	return $number;
}

# Test files that run at the same time take turns.
sub template_of
{
	my ($run, @options) = @_;
	my ($programs) = split /:/, $ENV{PATH};
	my $template = join '_', "$ENV{SANDBOX}/template", map { tr/A-Za-z0-9//cdr } $programs, @options;
	$template .= '_' . next_number() if $ShardidTest::has_own_identifier;
	open my $lock, '>', "$template.lock" or die;
	flock $lock, LOCK_EX or die;
	if (!-d $template)
	{
		$run->('initdb', '-D', "$template.new", '--wal-segsize=1', @options);
		append_to_file("$template.new/postgresql.conf",
			"max_wal_size = 1GB\nmin_wal_size = 80MB\nwal_keep_size = 96MB\nwal_init_zero = off\n");
		rename "$template.new", $template or die;
	}
	return $template;
}

1;
