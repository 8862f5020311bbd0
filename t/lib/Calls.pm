# The calls of a function: each value of each argument type with those of the others, as many as there is time for, and
# as text what is called and what comes before it.
package Calls;

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(head product shuffle);
use Boundaries;
use Callables;

our @EXPORT = qw(calls_of want_all_pairs unknown_types);

my $wants_all_pairs = $ENV{FULL};
my $max_product = $ENV{FULL} ? 4000 : 300;
my $max_of_leases = $ENV{FULL} ? 600 : 150;

sub want_all_pairs
{
	($wants_all_pairs, $max_product) = (1, 1000);
	return;
}

# A value of an argument that is left out; its default applies.
my $left_out = \'left out';
my %unknown_types;
sub unknown_types { return sort keys %unknown_types }

# $before comes before each.
sub calls_of
{
	my ($function, $before) = @_;
	my @values = map { values_of($_) } @{ $function->{arguments} };
	return map { call($function, $_, $before) } $function->{name} =~ /^shardid_lease/ ? some_of(@values) : combinations(@values);
}

sub values_of
{
	my ($argument) = @_;
	my $values =
	  $argument->{name} eq 'parent' ? [ 'months', 'a_table_with_a_name_of_sixty_bytes_that_leaves_no_room_for_1', 'parted', 'plain', 'seen', 'generator', '0', undef ]
	  : $argument->{name} eq 'every' ? [ '1 year', '1 month', '6 hours', '45 minutes', @{ boundaries('interval') } ]
	  : $argument->{type} eq 'regclass' ? relations() : boundaries($argument->{type});
	unless ($values)
	{
		$unknown_types{ $argument->{type} } = 1;
		$values = [undef];
	}
	return $argument->{has_default} ? [ $left_out, @$values ] : $values;
}

# Lists of values, one for each argument: all there are, or, if that is too many, each value of each
# argument with each of every other while the rest have usual values or random ones. Of these make test takes each value of
# each argument, and some of the pairs.
sub combinations
{
	my (@values) = @_;
	return product_of(@values) if product(1, map { scalar @$_ } @values) <= $max_product;
	my @singles = map { my $i = $_; map { [ $i, $_ ] } @{ $values[$i] } } 0 .. $#values;
	my @pairs;
	for my $i (0 .. $#values)
	{
		for my $j ($i + 1 .. $#values)
		{
			push @pairs, map { [ $i, $_->[0], $j, $_->[1] ] } product_of($values[$i], $values[$j]);
		}
	}
	@pairs = (@singles, head($max_product, shuffle @pairs)) unless $wants_all_pairs;
	return map { combination($_, @values) } @pairs;
}

# $set: an argument and its value, and perhaps another.
sub combination
{
	my ($set, @values) = @_;
	my $usual = rand() < 0.75;
	my @row = map { $_->[ $usual ? 0 : rand @$_ ] } @values;
	my %set = @$set;
	@row[ keys %set ] = values %set;
	return \@row;
}

# Of leases, as many as there is time for.
sub some_of
{
	my (@values) = @_;
	return product_of(@values) if product(1, map { scalar @$_ } @values) <= $max_of_leases;
	return map {
		[ map { $_->[ rand() < 0.5 ? 0 : rand @$_ ] } @values ]
	} 1 .. $max_of_leases;
}

sub product_of
{
	my ($first, @rest) = @_;
	return [] unless $first;
	my @tails = product_of(@rest);
	return map { my $value = $_; map { [ $value, @$_ ] } @tails } @$first;
}

sub literal
{
	my ($value, $type) = @_;
	return "NULL::$type" unless defined $value;
	return "'" . $value =~ s/'/''/gr . "'::$type";
}

# By name where there are names, so that any argument with a default can be left out.
sub argument_list
{
	my ($function, $texts) = @_;
	my @arguments = @{ $function->{arguments} };
	return join ', ', map {
		!defined $texts->[$_] ? () : $arguments[$_]{name} eq '' ? $texts->[$_] : "$arguments[$_]{name} => $texts->[$_]"
	} 0 .. $#arguments;
}

# A call: its text; the same with its arguments from columns, which is not computed by the planner; statements that
# come before it.
sub call
{
	my ($function, $values, $before) = @_;
	my @arguments = @{ $function->{arguments} };
	my (@texts, @columns, @selected);
	my @before = $before || ();
	for my $n (0 .. $#arguments)
	{
		my ($value, $type) = ($values->[$n], $arguments[$n]{type});
		if ($type eq 'regclass')
		{
			my $relation = ref $value ? 'shardid_seq' : $value;
			push @before, before_relation($relation) if defined $relation;
		}
		next if ref $value;
		$texts[$n] = literal($value, $type);
		$columns[$n] = "c.a$n";
		push @selected, "$texts[$n] AS a$n";
	}
	return {
		# Of a set, its first row will do: others are asked for two thousand million.
		text => "$function->{name}(" . argument_list($function, \@texts) . ')' . ($function->{gives_set} ? ' LIMIT 1' : ''),
		by_column => "$function->{name}("
		  . argument_list($function, \@columns)
		  . ') FROM (SELECT '
		  . join(', ', @selected)
		  . ' OFFSET 0) c',
		before => join('; ', @before) };
}

1;
