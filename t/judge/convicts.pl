# The judge, which checks the ids of all other tests, is tested itself: it must count violations correctly. That it convicts
# what clients of a server receive, other tests show: pages/demo.pl of Instagram's function, crash/kill.pl of nextval.
use ShardidTest;

# Histories written by hand, with the layout (shard_bits 0, sequence_bits 2): four ids per millisecond, time in milliseconds
# since 1970. An id is TIME.SEQUENCE, a call lasts from BEGIN to END in milliseconds, and the clock then shows END.
my $dir = PostgreSQL::Test::Utils::tempdir();

sub counts
{
	my ($sessions, %params) = @_;
	my @files;
	for my $session (@$sessions)
	{
		push @files, "$dir/session." . @files;
		my $text = '';
		for my $call (@$session)
		{
			my ($time, $sequence, $begin, $end) = @$call;
			$text .= sprintf "%d %d %d %d\n", 4 * $time + $sequence, 1e6 * $begin, 1e6 * $end, 1000 * $end;
		}
		open my $file, '>', $files[-1] or die;
		print $file $text;
		close $file;
	}
	my $verdict = judge_clients([ { files => \@files } ],
		shard_bits => 0, sequence_bits => 2, epoch_ms => 0, %params);
	return join ' ', map { "$_ $verdict->{$_}" }
	  grep { $verdict->{$_} && /^(duplicates|decreases|crossings|too_fast|ahead)$/ }
	  sort keys %$verdict;
}

my @good = ([ 1000, 0, 1000, 1000 ], [ 1000, 1, 1000, 1001 ], [ 1002, 3, 1002, 1002 ]);
is(counts([ \@good ]), '', 'a good history');
is(counts([ \@good, [ [ 1000, 2, 999, 1003 ] ] ]), '', 'calls at the same time may come in any order');
is(counts([ \@good, [ [ 1000, 1, 999, 1003 ] ] ]), 'duplicates 1', 'a duplicate in another session');
is(counts([ [ @good, [ 1002, 2, 1002, 1002 ] ] ]), 'decreases 1', 'a decrease in a session');
is(counts([ \@good, [ [ 1000, 2, 1002.5, 1003 ] ] ]),
	'crossings 1', 'a call that began after another had returned a larger id');
is(counts([ [ [ 1003, 0, 1000, 1001 ] ] ]), 'ahead 1', 'an id ahead of the clock');
is(counts([ [ [ 1003, 0, 1000, 1001 ] ] ], lead_ms => 2), '', 'as far ahead as it may be');
is( counts([ [ map { [ 1000 + int($_ / 4), $_ % 4, 1000, 1002 ] } 0 .. 15 ] ], lead_ms => 5),
	'', 'four milliseconds of ids in two that passed and two that were touched');
is( counts([ [ map { [ 1000 + int($_ / 4), $_ % 4, 1000, 1002 ] } 0 .. 17 ] ], lead_ms => 5),
	'too_fast 2', 'two more are too many');
my @borrowed = map { [ 1000 + int($_ / 4), $_ % 4, 1000, 1002 ] } 0 .. 31;
is(counts([ \@borrowed ], borrow_ms => 5), '', 'as many more, and as far ahead, as may be borrowed');
is(counts([ \@borrowed ], borrow_ms => 4), 'ahead 4', 'with less to borrow, too far ahead');
is(counts([ \@borrowed ], lead_ms => 5), 'too_fast 16', 'with nothing to borrow, too many');

# One id space of several generators: ids of different shards differ, and no id may occur twice anywhere.
sub written
{
	my ($name, @lines) = @_;
	append_to_file("$dir/$name", join '', map { "$_\n" } @lines);
	return "$dir/$name";
}
my @servers = (written('one', '4096 1 2 3', 4097), written('other', 4098), written('copy', 4099, '4097 7 8 9'));
is(judge_space([ @servers[ 0, 1 ] ])->{violations}, 0, 'two servers of one id space');
my $space = judge_space(\@servers);
is("$space->{ids} $space->{duplicates} $space->{violations}", '5 1 1', 'an id of one server that another gives again');
is_deeply($space->{twice}, ["4097 $servers[0] $servers[2]"], 'and which one it is');
my @incarnations = (written('a@1', 4096, 4097), written('a@2', 4098), written('b@1', 4100), written('b@2', 4099));
is(judge_space([ @incarnations[ 0 .. 2 ] ], sequence_bits => 2)->{violations}, 0, 'two incarnations, each in its own milliseconds');
$space = judge_space(\@incarnations, sequence_bits => 2);
is("$space->{duplicates} $space->{shared_ms} $space->{violations}", '0 1 1', 'a millisecond of a shard that two incarnations use');
is_deeply($space->{shared}, ["1024 $incarnations[0] $incarnations[3]"], 'and which one it is');

done_testing();
