# examples/tickets/README.md, for its tests: its blocks of SQL, run on three servers, and how many of their numbers are
# duplicates.
package Tickets;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More ();

our @EXPORT = qw(on_servers run_block query draw duplicates every_block_has_run);

# The blocks by the comment in their first line, in their order.
my $page = slurp_file('examples/tickets/README.md');
my %block = $page =~ /^```sql\n-- (.*?)\n(.*?)^```$/gms;
my (@servers, %has_run);

# Each server: a node and a database there.
sub on_servers
{
	@servers = @_;
	return;
}

# Runs a block of the page on a server, with the variables that it names. Returns its result or the SQLSTATE.
sub run_block
{
	my ($number, $name, %variables) = @_;
	die "examples/tickets/README.md has no '$name'" unless $block{$name};
	$has_run{$name} = 1;
	$variables{server} = $number;
	my @settings = map { ('-v', "$_=$variables{$_}") } sort keys %variables;
	my ($node, $database) = @{ $servers[ $number - 1 ] };
	my ($status, $out, $err) = $node->psql(
		$database, $block{$name},
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', @settings ]);
	return $err ? $err =~ s/.*ERROR:\s+//sr : $out;
}

sub query
{
	my ($number, $sql) = @_;
	my ($node, $database) = @{ $servers[ $number - 1 ] };
	return $node->safe_psql($database, $sql);
}

sub draw
{
	my ($number, $expression, $count) = @_;
	return [ split /\n/, query($number, "SELECT $expression FROM generate_series(1, $count)") ];
}

# How many numbers of all lists are duplicates.
sub duplicates
{
	my %seen;
	return scalar grep { $seen{$_}++ } map { @$_ } @_;
}

# Tests that every block below the headings that match has run.
sub every_block_has_run
{
	my ($heading) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %part = $page =~ /^## ([^\n]*)\n(.*?)(?=^## |\z)/gms;
	my @names = map { $part{$_} =~ /^```sql\n(?:-- )?([^\n]*)$/gm } grep { /$heading/ } sort keys %part;
	return Test::More::is(join(', ', sort @names), join(', ', sort keys %has_run), 'every block of this part of the page has run');
}

1;
