# "Add an id column" of docs/migrating.md, for its tests: database shop with a table of orders without ids, whose owner is
# no superuser, the page's blocks, and the scripts of examples/add-id.
package AddId;

use ShardidTest;
use Exporter 'import';
use Docs;

our @EXPORT = qw(start_shop create_orders install on repeated as_superuser block sqlstate_of script script_fails start_script $node);
our $node;

sub start_shop
{
	my ($name, $conf) = @_;
	$node = new_node($name, $conf);
	$node->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN; CREATE ROLE app LOGIN');
	return;
}

sub on
{
	my ($sql, $role) = @_;
	return $node->safe_psql('shop', $sql, extra_params => [ '-U', $role // 'shop_owner' ]);
}

# As the pages say, what has not got its locks in time runs again.
sub repeated
{
	my ($sql) = @_;
	return await_event('the locks', sub {
		my ($code, undef, $err) = $node->psql('shop', $sql, on_error_stop => 1, extra_params => [ '-U', 'shop_owner' ]);
		die $err if $code && $err !~ /lock timeout/;
		return !$code;
	});
}

sub as_superuser { return $node->safe_psql('shop', $_[0]) }
sub block { return block_of('migrating.md', $_[0]) }

sub sqlstate_of
{
	my ($sql, $role) = @_;
	my (undef, undef, $stderr) = $node->psql('shop', "\\set VERBOSITY sqlstate\n$sql", extra_params => [ '-U', $role // 'shop_owner' ]);
	return $stderr =~ /ERROR:  (\w{5})/ ? $1 : 'none';
}

# The command of a script of examples/add-id, or of another example, with these variables.
sub command_of_script
{
	my ($name, %variables) = @_;
	$variables{table} //= 'orders';
	my $role = delete $variables{role} // 'shop_owner';
	return ('psql', '-Xqt', '-A', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('shop') . " user=$role",
		(map { ('-v', "$_=$variables{$_}") } sort keys %variables), '-f', 'examples/' . ($name =~ m{/} ? $name : "add-id/$name") . '.sql');
}

# Starts it, with what it prints line by line.
sub start_script
{
	my ($out, $err, @command) = (shift, shift, 'stdbuf', '-oL', command_of_script(@_));
	return IPC::Run::start(\@command, '<', \'', '>', $out, '2>', $err);
}

# Returns what it prints. It runs again, too.
sub script
{
	my @command = command_of_script(@_);
	my ($is_done, $out, $err);
	await_event("$_[0] gets its locks", sub {
		($out, $err) = ('', '');
		$is_done = IPC::Run::run(\@command, '>', \$out, '2>', \$err);
		return $is_done || $err !~ /ERROR:  55P03/;
	});
	die "@command: $err" unless $is_done;
	return $out;
}

# Returns its error.
sub script_fails
{
	my @command = command_of_script(@_);
	my ($out, $err) = ('', '');
	IPC::Run::run(\@command, '>', \$out, '2>', \$err) and die "@command: succeeds";
	return $err;
}

# The database with the table: times that several rows share, one of them 3,000 rows, as after a bulk load; some before
# any id's time, one in the future.
sub create_orders
{
	my ($rows) = @_;
	$node->safe_psql('postgres', 'CREATE DATABASE shop OWNER shop_owner');
	as_superuser('GRANT CREATE ON SCHEMA public TO shop_owner');
	on(<<"SQL");
CREATE TABLE orders (order_no text PRIMARY KEY, created_at timestamptz DEFAULT now(), item text, changes int DEFAULT 0);
INSERT INTO orders
SELECT 'old ' || n, '2024-01-01 00:00:00+00'::timestamptz + (n::bigint * 7919 % 1000003) * interval '1.7 ms', 'lamp' FROM generate_series(1, $rows) n;
INSERT INTO orders SELECT 'bulk ' || n, '2024-01-01 00:00:05.123456+00', 'lamp' FROM generate_series(1, 3000) n;
INSERT INTO orders VALUES ('ancient 1', '2001-01-01 00:00:00+00', 'lamp'), ('ancient 2', '2001-01-02 00:00:00+00', 'lamp'),
    ('future', now() + interval '10 years', 'lamp');
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.changes := coalesce(NEW.changes, 0) + 1; RETURN NEW; END';
CREATE TRIGGER touched BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch();
GRANT INSERT, SELECT, UPDATE, DELETE ON orders TO app;
CREATE SEQUENCE app_orders;
GRANT USAGE ON SEQUENCE app_orders TO app;
SQL
	return;
}

# Step 0, by 'extension' or 'sql_only'.
sub install
{
	my ($version) = @_;
	return on(block('extension')) if $version eq 'extension';
	my $shell = block_of('contrib/portable/README.md', 'sql_only') =~ s/-d shop/'-d "' . $node->connstr('shop') . ' user=shop_owner"'/egr;
	my $said = `( $shell ) 2>&1`;
	is($?, 0, 'sql_only: the functions load') or diag($said);
	is(sqlstate_of('ALTER DATABASE shop SET shardid.shard_id = 5'), '42501', 'sql_only: the owner cannot store the setting');
	return on(block_of('contrib/portable/README.md', 'sql-only-number'));
}

1;
