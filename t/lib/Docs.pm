# The pages as the tests read them, so that what is written there is what is tested: their code blocks, and
# the functions of docs/reference.md.
package Docs;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT = qw(block_of blocks_of command_of is_internal parts_of_reference);

# The code blocks of a page in their order: each with its language and the words after that, its text, and its first
# line's number.
sub blocks_of
{
	my ($path) = @_;
	my ($line, $block, @blocks) = (0);
	for (split /^/m, slurp_file($path))
	{
		$line++;
		if ($block && /^```$/)
		{
			push @blocks, $block;
			$block = undef;
		}
		elsif ($block)
		{
			$block->{text} .= $_;
		}
		elsif (/^```(\w*) ?(.*)$/)
		{
			$block = { language => $1, words => $2, text => '', line => $line };
		}
	}
	die "$path: a block has no end" if $block;
	return @blocks;
}

# A page by its name in docs/, or by its path.
sub path_of { return $_[0] =~ m{/} ? $_[0] : "docs/$_[0]" }

# The text of the block with this name on a page; dies if there is none.
sub block_of
{
	my ($page, $name) = @_;
	my ($block) = grep { $_->{words} eq $name || index($_->{text}, $name) == 0 } blocks_of(path_of($page));
	die "$page has no block $name" unless $block;
	return $block->{text};
}

# The command within a line of this page that begins with these words; dies if there is none.
sub command_of
{
	my ($page, $start) = @_;
	my ($command) = slurp_file(path_of($page)) =~ /`(\Q$start\E[^`]*)`/;
	die "$page has no command $start" unless $command;
	return $command;
}

# Whether a function, named with its schema, is for an extension's own use: docs/reference.md leaves it out. In the schema of shardid
# there is none that SQL can call.
my $listed;

sub is_internal
{
	my ($schema, $name) = $_[0] =~ /(\w+)\.(\w+)$/;
	$listed //= parts_of_reference();
	return $schema =~ /^shardid_(?:admin|lease|readers)$/ && !$listed->{$name};
}

# For each function of docs/reference.md, its section: a title and the SQLSTATEs in the table of errors or in the
# sentences after "Errors:".
sub parts_of_reference
{
	my %part_of;
	for my $text (split /^##+ /m, slurp_file('docs/reference.md'))
	{
		my $errors = join ' ', $text =~ /Errors: (.*?)(?:\n\n|\z)/sg;
		my ($table) = $text =~ /^\| error \|[^\n]*\n(.*?)(?:\n\n|\z)/ms;
		$errors .= " $_" for map { /^\| ([^|]*) \|/ } split /\n/, $table // '';
		my %listed = map { $_ => 1 } $errors =~ /\b([0-9][0-9A-Z]{4})\b/g;
		my ($title) = $text =~ /^(.*)/;
		my $part = { title => $title, listed => \%listed, met => {} };
		$part_of{$_} = $part for map { split /, / } map { /^(\w+(?:, \w+)*)\(/mg } $text =~ /^```signature\n(.*?)^```$/msg;
	}
	return \%part_of;
}

1;
