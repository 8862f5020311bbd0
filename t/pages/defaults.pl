# Each default that a page teaches, with the extension and the SQL-only version: 5,000 rows of one INSERT, and rows in
# transactions of their own, take at most twice the processor's time that they take with next_id(5) of the same version.
use List::Util 'min';
use AddId;
use Docs;
use ShardidTest;

my $rounds = 5;
my $limit = 2.2;    # twice, and what a measurement varies by

start_shop('defaults');

# What the page has from the CREATE SEQUENCE to the end of the function, under another name.
sub function_of
{
	my ($page, $sequence) = @_;
	my ($text) = slurp_file("docs/$page") =~ /^(CREATE SEQUENCE \Q$sequence\E;\nCREATE FUNCTION next_order_id\(\).*?;)$/ms or die "$page: no function";
	return $text =~ s/FUNCTION next_order_id/FUNCTION of_page_$page/r =~ s/\.md//r;
}

# The processor's time of the statements, in ms; a table for each default.
sub times_of
{
	my ($defaults, $rows, $statements) = @_;
	my $sql = "SET client_min_messages = log; SET log_statement_stats = on;\n";
	for my $n (0 .. $#$defaults)
	{
		$sql .= "\\warn default: $n\nPREPARE insert_$n AS INSERT INTO orders_$n (n) SELECT generate_series(1, $rows);\n";
		# What a session does once is not measured.
		$sql .= "EXECUTE insert_$n;\n\\warn begin\n" . "EXECUTE insert_$n;\n" x $statements . "\\warn end\n";
	}
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('shop') ], '<', \$sql, '>', \$out, '2>', \$err) or die $err;
	my @times;
	for my $part ($err =~ /^begin\n(.*?)^end\n/gms)
	{
		my $time = 0;
		my $found = 0;
		while ($part =~ m{^!\s+([\d.]+) s user, ([\d.]+) s system}mg)
		{
			$time += 1000 * ($1 + $2);
			$found++;
		}
		die "$found of $statements statements: $part" if $found != $statements;
		push @times, $time;
	}
	return @times;
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
	on("CREATE TABLE orders_$_ (id bigint PRIMARY KEY DEFAULT $defaults[$_], n int)") for 0 .. $#defaults;

	# Other processes of a busy machine lengthen a round, never all of them.
	for my $case ([ 5000, 1 ], [ 1, 200 ])
	{
		my @least;
		for my $round (1 .. $rounds)
		{
			my @times = times_of(\@defaults, @$case);
			$least[$_] = min(grep { defined } $least[$_], $times[$_]) for 0 .. $#defaults;
		}
		my ($rows, $statements) = @$case;
		for my $n (1 .. $#defaults)
		{
			cmp_ok($least[$n], '<=', $limit * $least[0],
				sprintf "%s: DEFAULT %s, %d times %d rows: %.1f ms of processor, next_id(5) %.1f", $version, $defaults[$n], $statements, $rows, $least[$n], $least[0]);
		}
	}
	$node->safe_psql('postgres', 'DROP DATABASE shop');
}

$node->stop;
done_testing();
