# docs/several-databases.md without leases, by its blocks: three databases with shard numbers, their copies, the alert on
# defaults. The search for one number, and pg_dump -C, are in t/moves/fingerprint.pl, the drill in t/moves/drill.pl, and
# the runbook with leases in contrib/lease/t/runbook.pl.
use Docs;
use ShardidTest;

my %number_of = (oslo => 1, lisbon => 2, cairo => 3);
my %node;
$ENV{PGOPTIONS} = '-c client_min_messages=warning';

sub command { return command_of('several-databases.md', $_[0]) }
sub block { return block_of('several-databases.md', $_[0]) }
sub as_role { my ($role, $server, $sql, $dbname) = @_; return $server->safe_psql($dbname // 'shop', $sql, extra_params => [ '-U', $role ]) }

sub refused
{
	my ($server, $dbname) = @_;
	return ($server->psql($dbname // 'shop', 'SELECT ids.next_id()'))[2];
}

for my $name (sort keys %number_of)
{
	my $server = $node{$name} = new_node($name);
	$server->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN; CREATE ROLE app LOGIN');
	$server->safe_psql('postgres', 'CREATE DATABASE shop OWNER shop_owner');
	as_role('shop_owner', $server, block('number') =~ s/= 1;/= $number_of{$name};/r . block('table'));
	is(as_role('app', $server, command("SELECT current_setting('shardid.shard_id')")), "$number_of{$name}|$number_of{$name}",
		"$name: both columns show its number");
}

my $oslo = $node{oslo};
as_role('shop_owner', $oslo, command('SELECT ids.id_shard(0)') . '; ' . command('ALTER DATABASE shop RESET'));
like(refused($oslo), qr/no shard is set/, 'without the number no ids are generated');
as_role('shop_owner', $oslo, 'SELECT ids.id_shard(0); ALTER DATABASE shop SET shardid.shard_id = 1');

# --- Whether copies have the setting.

$oslo->safe_psql('postgres', 'CREATE DATABASE by_template TEMPLATE shop');
like(refused($oslo, 'by_template'), qr/no shard is set/, 'a copy by TEMPLATE has no number');
$oslo->safe_psql('postgres', 'CREATE DATABASE by_dump OWNER shop_owner');
$oslo->safe_psql('by_dump', (run_command([ 'pg_dump', $oslo->connstr('shop') ]))[0]);
like(refused($oslo, 'by_dump'), qr/no shard is set/, 'a restored dump has none');

# --- Alerts.

$oslo->safe_psql('shop', command('CREATE ROLE watcher') . ';' . command('GRANT USAGE ON SCHEMA ids TO watcher'));
is(as_role('watcher', $oslo, block('alerts')), '', 'no alert');
$oslo->safe_psql('shop', <<'SQL');
CREATE TABLE literal (id bigint DEFAULT ids.next_id(5), other bigint DEFAULT 2 * ids.next_id(6),
    named bigint DEFAULT ids.next_id(generator => 'ids.shardid_seq', shard => '7'::smallint),
    fine bigint DEFAULT ids.next_id(), own bigint DEFAULT ids.next_id(generator => 'ids.shardid_seq'))
SQL
is(join(' ', as_role('watcher', $oslo, "SET quote_all_identifiers = $_;" . block('alerts')) =~ /^"?literal"?\|(\w+)\|/mg), 'id other named', "defaults with a number, quoted: $_")
  for 'off', 'on';
$oslo->safe_psql('shop', q(SELECT ids.raise_generator('ids.shardid_seq', ids.id_lower_bound(clock_timestamp() + interval '15 minutes'))));
like(as_role('watcher', $oslo, block('alerts')), qr/^ahead of the clock, or soon negative\|00:1\d:[0-5]\d(\.\d+)?\|2046-/, 'a lead of a quarter of an hour');

$oslo->safe_psql('shop', q(CREATE TABLE owning (id bigserial); GRANT SELECT ON SEQUENCE owning_id_seq TO watcher; SELECT ids.next_id(generator => 'owning_id_seq')));
like(as_role('watcher', $oslo, block('alerts')), qr/^owned by a column\|owning_id_seq\|owning$/m, 'a generator that a column owns');

$_->stop for values %node;
done_testing();
