# bench/pgbench: its README's commands, and every script, by plain pgbench.
use ShardidTest;

my $node = new_node('node');
my ($commands) = slurp_file('bench/pgbench/README.md') =~ /^((?:    .*\n)+)/m;
my @commands = map { s/^ +//r =~ s/ -T 10 / -t 10 /r } split /\n/, $commands;
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
is(scalar @commands, 4, "the README's commands");
$node->command_ok([ 'sh', '-c', $_ ], $_) for @commands;

my ($uuidv7) = $node->safe_psql('bench', q(SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'));
for my $script (sort grep { !m{/setup\.sql$} } glob 'bench/pgbench/*.sql')
{
	SKIP:
	{
		skip "$script: PostgreSQL has uuidv7() from 18 on", 1 if $script =~ /uuidv7/ && !$uuidv7;
		$node->command_ok([ qw(pgbench -n -t 5 -f), $script, 'bench' ], $script);
	}
}
is($node->safe_psql('bench', q(SELECT count(*), count(DISTINCT id) FROM by_next_id)), '5|5', 'rows with ids');
is($node->safe_psql('bench', q(SELECT count(*) FROM thousand WHERE u = baseline.form_uuid_v1(ts, 666, '44:88:99:36:57:32'))),
	1000, 'what is compared builds the same UUIDs');
$node->stop;
done_testing();
