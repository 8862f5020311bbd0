# The named code blocks of the pages in docs/, so that what is written there is what is tested: a block
# begins with ``` and its language and name.
package Docs;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT = qw(block_of);

# The text of the block; dies if there is none.
sub block_of
{
	my ($page, $name) = @_;
	slurp_file("docs/$page") =~ /^```\w+ \Q$name\E\n(.*?)^```$/ms or die "docs/$page has no block $name";
	return $1;
}

1;
