# The first and last values of the types of SQL arguments, and the values around the limits of the layouts and of
# UUID version 1. Every type of an argument of the extension must be here.
package Boundaries;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(boundaries);

# One below, at and one above.
sub around { return map { ($_ - 1, $_, $_ + 1) } @_ }

sub unique { my %seen; return grep { !$seen{$_}++ } @_ }

# The first value of each list is a usual one, with which a call of any function can succeed.
my %boundaries = (
	integer => [
		unique(5, around(0, 10, 13, 16, 22, 31, 32, 64, 1024, 8192, 16384, 65536, 16777216),
			-2147483648, -2147483647, 2147483646, 2147483647)
	],
	bigint => [
		unique('4000000000000000000', map { @$_ } [ around(0) ],
			[ map { around(1 << $_) } 9, 10, 22, 23, 31, 32, 52, 53, 61 ],
			[ map { -(1 << $_) } 9, 10, 22, 23, 31, 32, 52, 53, 61 ],
			[qw(9 10 11 99 100 999 1000 99999999999999999 100000000000000000 999999999999999999 1000000000000000000),
			qw(8999999999999999999 9000000000000000000 9123456789012345678 9198765432109876543)],
			[qw(9223372036854775806 9223372036854775807 -9223372036854775807 -9223372036854775808)])
	],
	'timestamp with time zone' => [
		qw(2015-06-07T08:09:10.123+00 -infinity infinity 0001-01-01T00:00:00+00 1582-10-14T23:59:59.999999+00
		  1582-10-15T00:00:00+00 1582-10-15T00:00:00.000001+00 1969-12-31T23:59:59.999+00
		  1969-12-31T23:59:59.999999+00 1970-01-01T00:00:00+00 1999-12-31T23:59:59.999999+00 2000-01-01T00:00:00+00
		  2000-01-01T00:00:00.000001+00 2106-02-07T06:28:15.999999+00 2106-02-07T06:28:16+00
		  2011-08-24T21:07:01.720999+00 2011-08-24T21:07:01.721+00 2011-08-24T21:07:01.721001+00
		  2046-06-27T17:00:49.273+00 2081-04-30T12:54:37.272+00 2081-04-30T12:54:37.272001+00
		  2081-04-30T12:54:37.273+00 5236-03-31T21:21:00.684696+00 5236-03-31T21:21:00.684697+00
		  5236-03-31T21:21:00.684698+00 10889-08-02T05:31:50.655999+00 10889-08-02T05:31:50.656+00
		  294276-12-31T23:59:59.998999+00 294276-12-31T23:59:59.999+00 294276-12-31T23:59:59.999999+00),
		map { "4714-11-24 00:00:$_+00 BC" } qw(00 00.000001 00.001)
	],
	macaddr => [
		qw(44:88:99:36:57:32 00:00:00:00:00:00 00:00:00:00:00:01 01:00:00:00:00:00 7f:ff:ff:ff:ff:ff
		  80:00:00:00:00:00 ff:ff:ff:ff:ff:fe ff:ff:ff:ff:ff:ff)
	],
	uuid => [
		# RFC 9562, appendix A.1; nil, max and values between; version 1 with its first and last time.
		'c232ab00-9414-11ec-b3c8-9f6bdeced846',
		'00000000-0000-0000-0000-000000000000',
		'ffffffff-ffff-ffff-ffff-ffffffffffff',
		(map { "c232ab00-9414-${_}1ec-b3c8-9f6bdeced846" } 0, 2 .. 9, 'a' .. 'f'),
		(map { "c232ab00-9414-11ec-${_}3c8-9f6bdeced846" } 0 .. 9, 'a' .. 'f'),
		'00000000-0000-1000-8000-000000000000',
		'00000009-0000-1000-8000-000000000000',
		'0000000a-0000-1000-8000-000000000000',
		'ffffffff-ffff-1fff-bfff-ffffffffffff',
		# Appendix A.5; version 6 with its first and last time.
		'1ec9414c-232a-6b00-b3c8-9f6bdeced846',
		'00000000-0000-6000-8000-000000000000',
		'00000000-0000-6009-8000-000000000000',
		'00000000-0000-600a-8000-000000000000',
		'ffffffff-ffff-6fff-bfff-ffffffffffff',
		# Appendix A.6; version 7 with its first and last time.
		'017f22e2-79b0-7cc3-98c4-dc0c0c07398f',
		'00000000-0000-7000-8000-000000000000',
		'ffffffff-ffff-7fff-bfff-ffffffffffff'
	],
	boolean => [qw(true false)],
	regnamespace => [qw(public pg_catalog pg_toast 0 4294967295)],
	regprocedure => [ 'public.next_id(regclass,timestamptz,int,int)', 'pg_catalog.now()', 'pg_catalog.lastval()', '0', '4294967295' ],
	'regclass[]' => [ '{}', '{NULL}', '{0}', '{4294967295}', '{pg_class,NULL}', '{{pg_class},{0}}' ],
	smallint => [ 5, -32768, -32767, -1, 0, 1, 32766, 32767 ],
	'double precision' => [
		5, qw(0 -0 1 -1 0.5 1e-307 1.7976931348623157e308 -1.7976931348623157e308 infinity -infinity
		  nan)
	],
	numeric => [ 5, qw(0 -1 0.5 1e-1000 9223372036854775807 9223372036854775808 1e1000 infinity nan) ],
	text => [
		qw(00001ARYZ6S41 0000000000000 7zzzzzzzzzzzz 8000000000000 fZZZZZZZZZZZZ G000000000000 OIL000000oil1
		  000000000000 00000000000000 00000000000U0 000000-000000 0000-00000-0000),
		'1ec9414c-232a-6b00-b3c8-9f6bdeced846', '017F22E279B07CC398C4DC0C0C07398F',
		"\x{e4}000000000000", 'abc', '', ' ', "\x{e4}\x{1f418}", '0', '-1', "'", '%s%n', 'x' x 10000
	],
	bytea => [
		'\x507f1f77bcf86cd799439011', '\x', '\x00', '\xff', '\xc232ab00', '\x' . '00' x 11, '\x' . '00' x 12,
		'\x7fffffff' . 'ff' x 8, '\x80000000' . '00' x 8, '\x' . 'ff' x 12, '\x' . '00' x 13, '\x' . '00' x 16,
		'\x' . 'ff' x 10000
	],
	name => [ 'registry', 'nowhere', '', ' ', "'", '%s%n', 'dbname=postgres', 'x' x 63, "\x{e4}\x{1f418}" ],
	oid => [qw(0 1 10 1259 4294967295)],
	pg_lsn => [qw(0/1 0/0 FFFFFFFF/FFFFFFFF 0/FFFFFFFF 1/0)],
	jsonb => [ 'null', 'true', '1', '"a"', '{}', '[]', '[null]', '[[]]', '[{}]', '[1, "a", {}]' ],
	'shardid_lease.request_1[]' => [
		map({ qq({"($_)"}) } 'join,00001ARYZ6S41,,o,,,,,p,f,0/0,,,,,1,1700000000000,h,1,d', 'join,00001ARYZ6S41,0,o,,,,,p,f,0/0,1,,,,1,1700000000000,h,1,d',
			'take_over,00001ARYZ6S41,7,o,,,,-1,p,f,0/0,-1,,,,1,9223372036854775807,h,1,d', 'renew,00001ARYZ6S41,2147483647,o,,,x,,p,f,0/0,9223372036854775807,,,,1,1,h,1,d',
			'return,00001ARYZ6S41,,o,,,,,p,f,FFFFFFFF/FFFFFFFF,,1,1,1,-9223372036854775808,-9223372036854775808,h,-1,d', ',' x 19),
		'{}', '{NULL}', '{{NULL}}'
	],
	'shardid_lease.grant_1[]' => [
		map({ qq({"($_)"}) } 'o,,00001ARYZ6S41,0,1,,,,,,,,,,,,,', 'o,,none,-1,9223372036854775807,,,,,,,,,,,,t,f', 'o,,,,,,,,,,,,,,,no,,', ',' x 17),
		'{}', '{NULL}', '{{NULL}}'
	],
	interval => [
		'1 day', '0', '1 us', '-1 us', '178000000 years', '-178000000 years', '2147483647 months',
		'-2147483648 days'
	],);

# The boundaries of a type, with NULL (undef); an empty list for an unknown type. regclass has none here: the names
# depend on the database.
sub boundaries
{
	my ($type) = @_;
	return unless $boundaries{$type};
	return [ @{ $boundaries{$type} }, undef ];
}

1;
