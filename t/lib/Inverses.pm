# What has to be true of the result of a call, by the functions that take it apart again.
package Inverses;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(inverse_of);

my %inverse = (
	next_id => \&is_of_shard,
	next_ids => \&is_of_shard,
	id_parts => sub {
		my ($of) = @_;
		return
		    "(id_timestamp($of->{id}"
		  . layout($of, qw(epoch shard_bits sequence_bits))
		  . "), id_shard($of->{id}"
		  . layout($of, qw(shard_bits sequence_bits))
		  . "), id_sequence($of->{id}"
		  . layout($of, 'sequence_bits')
		  . '))::text = %1$s';
	},
	# No id shows a time after the last millisecond of timestamptz.
	id_lower_bound => sub {
		my ($of) = @_;
		return if $of->{ts} =~ /294276-12-31 23:59:59.999999/;
		my $timestamp = sub { "id_timestamp($_[0]" . layout($of, qw(epoch shard_bits sequence_bits)) . ')' };
		my $previous = q((CASE %1$s WHEN '-9223372036854775808' THEN 9223372036854775807 ELSE %1$s::bigint - 1 END));
		return $timestamp->('%1$s::bigint') . " >= $of->{ts} AND (%1\$s = '0' OR "
		  . $timestamp->($previous)
		  . " < $of->{ts})";
	},
	uuid_v1 => sub { return q(uuid_v1_timestamp(%1$s) > '2020-01-01') },
	objectid => sub { return 'length(%1$s::bytea) = 12' },
	objectid_from => sub {
		my ($of) = @_;
		return "objectid_timestamp(%1\$s) = date_trunc('second', $of->{ts}) AND substr(%1\$s::bytea, 5) ="
		  . " decode(lpad(to_hex($of->{machine}), 6, '0') || lpad(to_hex($of->{pid}), 4, '0')"
		  . " || lpad(to_hex($of->{counter}), 6, '0'), 'hex')";
	},
	objectid_timestamp => sub {
		return "objectid_from(%1\$s, 0, 0, 0) = substr($_[0]{1}, 1, 4) || '\\x0000000000000000'";
	},
	uuid_v1_from => sub { return uuid_is_of('uuid_v1', @_) },
	uuid_v6_from => sub { return uuid_is_of('uuid_v6', @_) },
	(map { ("uuid_v1_$_" => \&uuid_v1_round_trip, "uuid_v6_$_" => \&uuid_v6_round_trip) }
		  qw(timestamp hundred_ns clock_seq node)),
	uuid_v1_to_v6 => sub { return "uuid_v6_to_v1(%1\$s) = $_[0]{1}" },
	uuid_v6_to_v1 => sub { return "uuid_v1_to_v6(%1\$s) = $_[0]{1}" },
	scatter_digits => sub { "gather_digits(%1\$s" . layout($_[0], 'digits') . ") = $_[0]{id}" },
	gather_digits => sub { "scatter_digits(%1\$s" . layout($_[0], 'digits') . ") = $_[0]{scattered}" },
	scatter_bits => sub { "gather_bits(%1\$s, $_[0]{bits}) = $_[0]{id} AND %1\$s::bigint >= 0" },
	gather_bits => sub { "scatter_bits(%1\$s, $_[0]{bits}) = $_[0]{scattered} AND %1\$s::bigint >= 0" },
	id_to_text => sub { "id_from_text(%1\$s) = $_[0]{id}" },
	id_from_text => sub { "id_to_text(%1\$s) = translate(upper($_[0]{1}), 'OIL', '011')" });

# The condition on the result %1$s of a function with these arguments, as SQL; '' where there is none.
sub inverse_of
{
	my ($name, $of) = @_;
	return $inverse{$name} ? $inverse{$name}->($of) // '' : '';
}

sub uuid_is_of
{
	my ($functions, $of) = @_;
	my $hundred_ns = $of->{hundred_ns} // 0;
	return "${functions}_timestamp(%1\$s) = $of->{ts} AND ${functions}_clock_seq(%1\$s) = $of->{clkseq}"
	  . " AND ${functions}_node(%1\$s) = $of->{mac} AND ${functions}_hundred_ns(%1\$s) = $hundred_ns";
}

sub is_of_shard
{
	my ($of) = @_;
	return unless $of->{shard};
	return "id_shard(%1\$s::bigint" . layout($of, qw(shard_bits sequence_bits)) . ") = $of->{shard}";
}

sub uuid_round_trip
{
	my ($functions, $of) = @_;
	my $parts = join ', ', map { "${functions}_$_($of->{1})" } qw(timestamp clock_seq node hundred_ns);
	return "%1\$s IS NOT NULL AND ${functions}_from($parts) = $of->{1}";
}

sub uuid_v1_round_trip { return uuid_round_trip('uuid_v1', @_) }
sub uuid_v6_round_trip { return uuid_round_trip('uuid_v6', @_) }

# Those of the arguments that the call has, to be passed on.
sub layout
{
	my ($of, @names) = @_;
	return join '', map { defined $of->{$_} ? ", $_ => $of->{$_}" : () } @names;
}

1;
