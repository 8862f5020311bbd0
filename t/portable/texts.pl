# The errors of portable/shardid.sql: the value in DETAIL, and a HINT that works as written.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Docs;
use Portable;

my $node = new_portable_node('texts');
sub query { return $node->safe_psql('portable', $_[0]) }

sub refused
{
	my ($sql) = @_;
	my (undef, undef, $stderr) = $node->psql('portable', "\\set VERBOSITY verbose\n$sql");
	return $stderr;
}

# The epoch is shown as it was passed, however the time zone's offset has changed since 1970.
like(refused(qq{SET timezone = '$_->[0]'; SELECT next_id(5, epoch => '2100-07-01 12:00:00+00')}),
	qr/22008: clock is before the epoch.*the epoch is \Q$_->[1]\E\./s, "an epoch under $_->[0]")
  for [ 'Europe/Berlin', '2100-07-01 14:00:00+02' ], [ 'UTC', '2100-07-01 12:00:00+00' ];

# A sequence that begins far ahead, by its MINVALUE.
query('CREATE SEQUENCE far MINVALUE 4611686018427387904');
my $far = refused(q{SELECT next_id(5, 'far')});
like($far, qr/55000: generator "ids\.far" is too far ahead.*HINT:  Its MINVALUE is as far ahead: run ALTER SEQUENCE ids\.far .*RESTART\./s,
	'a huge MINVALUE is named');
my ($command) = $far =~ /HINT: .* run (ALTER SEQUENCE [^.]+\.[^.]+)\./;
is(query(($command // q(SELECT 'no hint')) . q{; SELECT next_id(5, 'far') > 0}), 't', 'and what the hint says mends it');

# A sequence whose nextval does not count one by one. DETAIL has both values.
query(q{CREATE SEQUENCE changed; SELECT next_id(5, 'changed')});
for my $change (['INCREMENT BY 2', 'INCREMENT is 2 and its CACHE 1'], ['CACHE 10', 'INCREMENT is 1 and its CACHE 10'])
{
	my $changed = refused("SELECT next_id(5, 'changed'); ALTER SEQUENCE changed $change->[0]; SELECT pg_sleep(0.002); SELECT next_id(5, 'changed')");
	like($changed, qr/55000: sequence "ids\.changed" has an INCREMENT or a CACHE.*DETAIL:  Its $change->[1],/s, $change->[0]);
	my ($back) = $changed =~ /HINT:  Run (ALTER SEQUENCE .*)\.$/m;
	is(query(($back // q(SELECT 'no hint')) . q{; SELECT next_id(5, 'changed') > 0}), 't', 'and what the hint says mends it');
}

# EXECUTE, as the page grants it.
query(<<'SQL');
CREATE ROLE app;
GRANT USAGE, UPDATE ON SEQUENCE shardid_seq TO app;
CALL shardid_grant_marks('app');
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA ids FROM PUBLIC;
SQL
like(refused('SET ROLE app; SELECT next_id(5)'), qr/42501: permission denied for function/, 'EXECUTE revoked from PUBLIC');
query(command_of('portable.md', 'GRANT EXECUTE ON ALL ROUTINES'));
is(query('SET ROLE app; SELECT next_id(5) > 0, (SELECT count(*) FROM next_ids(5, 2))'), 't|2', 'and granted as the page shows');

$node->stop;
done_testing();
