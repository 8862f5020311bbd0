# docs/migrating.md, for its tests: database shop, whose owner is no superuser, and the page's blocks.
package AddId;

use ShardidTest;
use Exporter 'import';
use Docs;

our @EXPORT = qw(start_shop install on repeated as_superuser block sqlstate_of $node);
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

# Step 0, by 'extension' or 'sql_only', without what is left out.
sub install
{
	my ($version, $left_out) = @_;
	$left_out //= qr/(?!)/;
	return on(block('extension') =~ s/$left_out//gr) if $version eq 'extension';
	my $shell = block_of('contrib/portable/README.md', 'sql_only') =~ s/-d shop/'-d "' . $node->connstr('shop') . ' user=shop_owner"'/egr;
	my $said = `( $shell ) 2>&1`;
	is($?, 0, 'sql_only: the functions load') or diag($said);
	is(sqlstate_of('ALTER DATABASE shop SET shardid.shard_id = 5'), '42501', 'sql_only: the owner cannot store the setting');
	return on(block_of('contrib/portable/README.md', 'sql-only-number') =~ s/$left_out//gr);
}

1;
