# Each default that a page teaches, with the extension and the SQL-only version: 5,000 rows of one INSERT, and rows in
# transactions of their own, get ids of the shard that increase.
use AddId;
use Docs;
use ShardidTest;

start_shop('defaults');

# What the page has from the CREATE SEQUENCE to the end of the function, under another name.
sub function_of
{
	my ($page, $sequence) = @_;
	my ($text) = slurp_file("docs/$page") =~ /^(CREATE SEQUENCE \Q$sequence\E;\nCREATE FUNCTION next_order_id\(\).*?;)$/ms or die "$page: no function";
	return $text =~ s/FUNCTION next_order_id/FUNCTION of_page_$page/r =~ s/\.md//r;
}

for my $version ('extension', 'sql_only')
{
	create_orders(0);
	install($version);
	my $layout = q(epoch => '2023-01-01 00:00:00+00', shard_bits => 10, sequence_bits => 12);
	on(function_of('layouts.md', 'ids.orders_id_seq'));
	on('CREATE SEQUENCE ids.of_pgedge; CREATE SEQUENCE ids.of_shard');
	as_superuser(q(ALTER DATABASE shop SET shardid.shard_id = 5));
	my @defaults = ('ids.next_id(5)', 'ids.next_id()', q(ids.next_id(5, 'ids.of_shard')), 'of_page_layouts()',
		"ids.next_id(generator => 'ids.of_pgedge', $layout)");
	push @defaults, 'ids.new_id()' if $version eq 'sql_only';
	for my $n (0 .. $#defaults)
	{
		on("CREATE TABLE orders_$n (id bigint PRIMARY KEY DEFAULT $defaults[$n], n serial)");
		on("INSERT INTO orders_$n (n) SELECT nextval('orders_${n}_n_seq') FROM generate_series(1, 5000);" . "INSERT INTO orders_$n DEFAULT VALUES;" x 200);
		my $shard = $n == 3 || $n == 4 ? 'id >> 12 & 1023' : 'id >> 10 & 8191';
		is(on("SELECT count(*), bool_and(id > last), bool_and($shard = 5)
			FROM (SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY n) AS last FROM orders_$n) s"), '5200|t|t', "$version: DEFAULT $defaults[$n]");
	}
	$node->safe_psql('postgres', 'DROP DATABASE shop');
}

$node->stop;
done_testing();
