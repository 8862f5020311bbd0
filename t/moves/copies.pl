# A database with a shard number, by the blocks of docs/several-databases.md, and its copies of every kind: which have the
# number, what shard_fingerprint() tells of two, which examples/monitoring/same_number.sh finds, and the restore drill of
# docs/operations.md, with a number in a setting and with a lease. The runbook with leases is in
# contrib/lease/t/runbook.pl.
use Docs;
use Leases;
use ShardidTest;

$ENV{PGOPTIONS} = '-c client_min_messages=warning';
sub command { return command_of('several-databases.md', $_[0]) }
sub block { return block_of('several-databases.md', $_[0]) }
sub drill { return command_of('operations.md', $_[0]) }
my $ask = drill('SELECT ids.id_shard(ids.next_id())');
my $node;
sub as_role { my ($role, $sql, $dbname) = @_; return $node->safe_psql($dbname // 'shop', $sql, extra_params => [ '-U', $role ]) }
sub refused { return ($node->psql($_[0], 'SELECT ids.next_id()'))[2] }

# --- The number of a database.

$node = new_node('original', undef, allows_streaming => 1);
$node->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN; CREATE ROLE app LOGIN');
$node->safe_psql('postgres', 'CREATE DATABASE shop OWNER shop_owner');
as_role('shop_owner', block('number') =~ s/= 1;/= 5;/r . block('table'));
is(as_role('app', command("SELECT current_setting('shardid.shard_id')")), '5|5', 'both columns show it');
as_role('shop_owner', command('SELECT ids.id_shard(0)') . '; ' . command('ALTER DATABASE shop RESET'));
like(refused('shop'), qr/no shard is set/, 'without the number no ids are generated');
as_role('shop_owner', 'SELECT ids.id_shard(0); ALTER DATABASE shop SET shardid.shard_id = 5');
$node->safe_psql('shop', command('CREATE ROLE watcher') . ';' . command('GRANT USAGE ON SCHEMA ids TO watcher'));

# --- Its copies, and a database that was created separately.

my %others = (itself => [ $node, 'shop' ], map { $_ => [ $node, $_ ] } qw(by_wal_log by_file_copy by_dump beside));
sub dumped { my ($from_options, $to) = @_; return system_or_bail('sh', '-c', "pg_dump $from_options -d '" . $node->connstr('shop') . "' | psql -Xq -v ON_ERROR_STOP=1 -d '$to' >/dev/null") }

$node->safe_psql('postgres', "CREATE DATABASE by_$_ TEMPLATE shop STRATEGY $_") for 'wal_log', 'file_copy';
$node->safe_psql('postgres', "CREATE DATABASE $_") for 'by_dump', 'beside';
dumped('', $node->connstr('by_dump'));
$node->safe_psql('beside', <<'SQL');
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
GRANT USAGE ON SCHEMA ids TO watcher;
GRANT SELECT ON SEQUENCE ids.shardid_seq TO watcher;
SQL
for my $name (grep { $_ ne 'itself' } sort keys %others)
{
	like(refused($name), qr/no shard is set/, "$name: has no number");
	$node->safe_psql('postgres', "ALTER DATABASE $name SET shardid.shard_id = 5");
}

# pg_dump -C keeps it. Its server is also the registry, later.
my $restored = new_registry('restored', {});
$restored->safe_psql('postgres', 'CREATE ROLE watcher LOGIN; CREATE ROLE app; CREATE ROLE shop_owner');
dumped('-C', $restored->connstr('postgres'));
$others{restored} = [ $restored, 'shop' ];

my $standby = new_standby($node, 'standby');
$others{standby} = [ $standby, 'shop' ];

# A copy that the page starts: of a synchronous server, with the original's configuration, but without its standbys.
# $waits: it stays in recovery until it is promoted.
sub copy_of
{
	my ($name, $waits) = @_;
	$node->backup($name);
	my $copy = PostgreSQL::Test::Cluster->new($name);
	$copy->init_from_backup($node, $name);
	$copy->append_conf('postgresql.conf', sprintf <<'CONF', $node->port, $node->host);
synchronous_standby_names = 'of_the_original'
port = %s
unix_socket_directories = '%s'
hba_file = '/nonexistent/pg_hba.conf'
ident_file = '/nonexistent/pg_ident.conf'
CONF
	append_to_file($copy->data_dir . '/standby.signal', '') if $waits;
	my ($data, $log, $socket, $port) = ($copy->data_dir, $copy->logfile, PostgreSQL::Test::Utils::tempdir_short(), $copy->port);
	$copy->{_host} = $socket;
	my $command = block_of('operations.md', 'drill_start') =~ s{(-h |directories=)/srv/restored}{$1$socket}gr
	  =~ s{/srv/restored}{$data}gr =~ s/restored\.log/$log/r =~ s/5433/$port/gr =~ s/ -U postgres//r;
	my ($out, $err) = run_command([ 'sh', '-c', "exec 2>&1; $command" ]);
	is($out =~ s/.*server started\n//sr, "$data\n" . ($waits ? 't' : 'f'), "$name: the page leads to the copy");
	is($copy->safe_psql('shop', drill('SELECT pg_promote()')), 't', "$name: is promoted") if $waits;
	$others{$name} = [ $copy, 'shop' ];
	return $copy;
}
my $copy = copy_of('copy');

# --- Two fingerprints.

my @columns = qw(system_identifier database extension place started data_directory timeline);

sub row_of
{
	my ($server, $dbname) = @{ $others{ $_[0] } };
	my %row;
	@row{@columns} = split /\|/, $server->safe_psql($dbname, 'SELECT ' . join(', ', @columns) . ' FROM ids.shard_fingerprint()',
		extra_params => [ '-U', 'watcher' ]), -1;
	return \%row;
}
my $original = row_of('itself');
is($original->{data_directory}, $node->data_dir, 'watcher, who is in pg_monitor, sees where the original is');

sub verdict
{
	my $other = row_of($_[0]);
	my %equal = map { $_ => $original->{$_} eq $other->{$_} } @columns;
	return 'different' unless $equal{system_identifier} && ($equal{database} || $equal{extension});
	return $equal{database} && $equal{place} && $equal{started} ? 'same place' : 'copy';
}
my %wanted = (itself => 'same place', map({ $_ => 'copy' } qw(by_file_copy by_wal_log copy standby)), map { $_ => 'different' } qw(beside by_dump restored));
is_deeply({ map { $_ => verdict($_) } keys %others }, \%wanted, 'each is what it is');

# --- Which repeat ids.

sub same_number
{
	my ($out, $err) = run_command([ 'examples/monitoring/same_number.sh', map { my ($server, $dbname) = @{ $others{$_} }; $server->connstr($dbname) } @_ ]);
	return $err || $out;
}

is(join(' ', grep { same_number('itself', $_) eq '5' } sort keys %others), 'beside by_dump by_file_copy by_wal_log copy restored', 'finds those that repeat ids: all but itself and the standby that follows');
is(same_number(keys %others), 5, 'also among more than two');
command_fails_like([ 'examples/monitoring/same_number.sh', $node->connstr('shop'), $node->connstr($_) ], qr/does not exist/,
	"fails if it cannot ask one: $_") for 'none', 'template1';

# --- The drill with a number.

is($copy->safe_psql('shop', $ask), 5, 'a restored server generates the ids of its original');
$copy->safe_psql('shop', drill('ALTER DATABASE shop SET shardid.shard_id = 9') . ';' . drill('SELECT ids.renew_identity()'));
is($copy->safe_psql('shop', $ask), 9, 'until it has a number of its own');
$node->safe_psql('postgres', "ALTER DATABASE $_ RESET shardid.shard_id") for 'by_wal_log', 'by_file_copy';
is(same_number('itself', 'by_wal_log', 'by_file_copy', 'copy'), '', 'not found: one with another number, and two without a number');
command_ok([ 'pg_ctl', '-D', $copy->data_dir, 'stop' ], 'it stops');

# --- With a lease.

$restored->safe_psql('postgres', "SELECT shardid_lease.create_id_space('shop')");
my $address = sprintf "host '%s', port '%s', dbname 'postgres'", $restored->host, $restored->port;
$node->safe_psql('shop', <<"SQL");
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS ($address);
CREATE USER MAPPING FOR shop_owner SERVER registry OPTIONS (user 'member', password 'of the member');
GRANT USAGE ON FOREIGN SERVER registry TO shop_owner;
SELECT shardid_lease.lease_shard('shop', 'registry');
SQL
$copy = copy_of('leased', 1);
is(verdict('leased') . row_of('leased')->{timeline}, 'copy2', 'a promoted copy is on another timeline');
$node->safe_psql('shop', drill('SELECT shardid_lease.renew_leases()'));
my $port = $node->port;
like(answered(sub { return ($copy->psql('shop', "\\set VERBOSITY verbose\nSET shardid_lease.timeout = '1s'; $ask"))[2] }),
	qr/ERROR:  55000: .*held by \S+, port $port,/s, 'a restored server generates no ids, and its error names the original');
is($node->safe_psql('shop', $ask), 0, 'which continues');
command_ok([ 'pg_ctl', '-D', $copy->data_dir, 'stop' ], 'it stops');

# --- The alerts, in a database without leases.

sub alerts { return as_role('watcher', ($_[0] // '') . block('alerts'), 'beside') }
is(alerts(), '', 'no alert');
$node->safe_psql('beside', <<'SQL');
CREATE TABLE literal (id bigint DEFAULT ids.next_id(5), other bigint DEFAULT 2 * ids.next_id(6),
    named bigint DEFAULT ids.next_id(generator => 'ids.shardid_seq', shard => '7'::smallint),
    fine bigint DEFAULT ids.next_id(), own bigint DEFAULT ids.next_id(generator => 'ids.shardid_seq'));
CREATE VIEW seen AS SELECT id FROM literal;
ALTER VIEW seen ALTER id SET DEFAULT ids.next_id(7);
CREATE RULE ruled AS ON UPDATE TO seen DO INSTEAD INSERT INTO literal VALUES (ids.next_id(7));
CREATE DOMAIN numbered AS bigint DEFAULT ids.next_id(7);
CREATE FUNCTION of_sql() RETURNS bigint LANGUAGE sql RETURN ids.next_id(7);
CREATE FUNCTION of_text() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := "ids".NEXT_ID ( generator => 'ids.shardid_seq', shard := 7 ); RETURN NEW; END $$;
CREATE FUNCTION of_cast() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN ids.next_id(CAST(7 AS int)); END';
CREATE FUNCTION of_comment() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN ids.next_id(/* us */ -- here
    shard => coalesce(7, 1)); END $$;
CREATE FUNCTION of_type() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN ids.next_id( int '7'); END $$;
CREATE FUNCTION of_argument() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := ids.next_id(TG_ARGV[0]::int); RETURN NEW; END';
CREATE FUNCTION sets() RETURNS void LANGUAGE sql AS $$ SELECT set_config('shardid.shard_id', '7', true) $$;
CREATE FUNCTION set_on() RETURNS bigint LANGUAGE sql SET shardid.shard_id = 7 AS 'SELECT ids.next_id()';
CREATE FUNCTION ids.fine(n int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM current_setting('shardid.shard_id'); RETURN ids.next_id() + 7 + n; END $$;
ALTER ROLE app SET shardid.shard_id = 7;
ALTER ROLE app IN DATABASE beside SET shardid.shard_id = 7;
ALTER ROLE app IN DATABASE postgres SET shardid.shard_id = 7;
CREATE TABLE owning (id bigserial);
CREATE SEQUENCE ahead;
CREATE SEQUENCE held CACHE 2;
CREATE SEQUENCE fine CACHE 2;
GRANT SELECT ON SEQUENCE owning_id_seq, ahead, held, fine TO watcher;
SELECT ids.next_id(generator => 'owning_id_seq'), ids.next_id(generator => 'fine'),
    ids.next_id(generator => 'ahead', epoch => '2020-01-01', shard_bits => 10, sequence_bits => 12),
    ids.raise_generator('ahead', ids.id_lower_bound(clock_timestamp() + interval '15 minutes', '2020-01-01', 10, 12), '2020-01-01', 10, 12);
SQL
my $held = open_session($node->connstr('beside'));
my $pid = ask_safe($held, q(BEGIN; SELECT ids.next_id(generator => 'held') \g /dev/null
SELECT pg_backend_pid();));
for my $quoted ('off', 'on')
{
	my $alerts = as_role('watcher', "SET quote_all_identifiers = $quoted; SELECT pg_sleep(0.01);" . block('alerts') =~ s/1 hour/5 ms/r, 'beside') =~ s/"//gr;
	is(join("\n", sort $alerts =~ /^a number is written in\|([^|]+)\|/mg), join("\n",
			sort((map { "default value for column $_" } 'id of table literal', 'id of view seen', 'named of table literal', 'other of table literal'),
				(map { "function $_()" } qw(of_argument of_cast of_comment of_sql of_text of_type set_on sets)), 'role app', 'role app in database beside', 'rule ruled on view seen', 'type numbered')),
		"all places with a number, quoted: $quoted");
	my ($ahead, $holding, $owned, @more) = sort $alerts =~ /^a generator needs attention\|(.*)$/mg;
	like($ahead, qr/^ahead\|00:1\d:[0-5]\d(\.\d+)?\|2089-[^|]+\|\|\|$/, 'one with a layout of its own is a quarter of an hour ahead');
	like($holding, qr/^held\|-[^|]+\|2046-[^|]+\|20[^|]+\|$pid\|$/, 'one holds readers back');
	like($owned, qr/^owning_id_seq\|.*\|owning$/, 'one is owned by a column');
	is(@more, 0, 'and no other');
}
close_session($held);

$_->stop for $standby, $restored, $node;
done_testing();
