# Many values in one call: nextval_range repeats no value of nextval, next_id or another nextval_range, and after a
# crash under load it repeats no value that a client received; t/crash/altered.pl has every kind of page.
use ShardidTest;

# No other process must help: each call must flush by itself.
my $node = new_node('ranges', <<'CONF');
wal_writer_delay = 10s
checkpoint_timeout = 1h
bgwriter_lru_maxpages = 0
autovacuum = off
restart_after_crash = off
CONF
sub query { return $node->safe_psql('postgres', $_[0]) }

# A statement whose rows are the values of a range.
sub range_of
{
	my ($sequence, $count, $step) = @_;
	return sprintf q(SELECT generate_series(first, last, %d) FROM nextval_range('%s', %d)), $step // 1, $sequence, $count;
}

# Several clients, each with a statement that it sends $times times; returns what each received.
sub told_together
{
	my ($times, @statements) = @_;
	my @clients = map { start_clients($node, 4, $_, rounds => $times) } @statements;
	finish_clients($_) for @clients;
	return map { @{ read_told($_) } } @clients;
}

sub twice
{
	my (@lists) = @_;
	my %seen;
	return scalar grep { $seen{$_}++ } map { @$_ } @lists;
}

sub count { my $sum = 0; $sum += @$_ for @_; return $sum }

# 16 sessions together receive every value exactly once.
for my $definition ('INCREMENT 3', 'INCREMENT -1 CACHE 10')
{
	my ($step) = $definition =~ /INCREMENT (\S+)/;
	query("DROP SEQUENCE IF EXISTS s; CREATE SEQUENCE s $definition");
	my @lists = told_together(rounds(200, 20_000), q(SELECT nextval('s')), map { range_of('s', $_, $step) } 1, 7, 50);
	my ($count, $twice) = (count(@lists), twice(@lists));
	note_fault("nextval and nextval_range together $definition", 1, $count, $twice);
	cmp_ok($count, '>', 1000, "$definition: $count values in 16 sessions");
	is($twice, 0, "$definition: none twice");

	# Sessions with a cache keep its unused values.
	my $cached = $definition =~ /CACHE/ ? 9 * 4 : 0;
	my $taken = query(q(SELECT (last_value - seqstart) / seqincrement + 1 FROM s, pg_sequence WHERE seqrelid = 's'::regclass));
	ok($count <= $taken && $taken <= $count + $cached, "$definition: none is missing of $taken");
	my $unordered = 0;
	for my $list (@lists)
	{
		$unordered += grep { ($list->[$_] - $list->[ $_ - 1 ]) * $step <= 0 } 1 .. $#$list;
	}
	is($unordered, 0, "$definition: each session's are in order");
}

# Clients record what they receive while the server is killed again and again. No commit flushes WAL.
query('CREATE SEQUENCE r');
my @told;
my $rounds = rounds(2, 40);
for my $round (1 .. $rounds)
{
	my @clients = map { start_clients($node, 6, $_, options => '-c synchronous_commit=off', pause_ms => rounds(5, 0)) }
	  range_of('r', 2), [ 'BEGIN', range_of('r', 40), 'ROLLBACK' ];
	await_clients($node, 12);
	await_ids(@clients);
	usleep 100_000 + rand 200_000;
	query('CHECKPOINT') if $round % 2;
	usleep rand 200_000;
	kill_node($node);
	finish_clients($_) for @clients;
	push @told, map { @{ read_told($_) } } @clients;
	start_again($node);
}
is(twice(@told), 0, 'kill -9: of ' . count(@told) . ' values of ranges none twice');
note_fault('kill -9 while ranges are taken', $rounds, count(@told), twice(@told));

$node->stop;
done_testing();
