# The demo: it first says what it installs, its output fits on a screen, its counts are those of the judge, it fails if
# next_id generates a duplicate, and it leaves nothing running.
use Cwd;
use File::Copy;
use ShardidTest;

# Starts it in a sandbox of its own, next to that of the tests, with fewer ids than in make demo, but in most milliseconds
# some.
sub start_demo
{
	my ($name, %environment) = @_;
	my $demo = { name => $name, folder => "$ENV{SANDBOX}/$name", output => '', error => '' };
	mkdir $demo->{folder} or die "$demo->{folder}: $!";
	symlink "$ENV{SANDBOX}/judge", "$demo->{folder}/judge" or die;
	local %ENV = (%ENV, SANDBOX => $demo->{folder}, DEMO_IDS => 1_000, DEMO_IDS_AT_ONCE => 100, DEMO_PAUSE_MS => 200, %environment);
	$demo->{run} = IPC::Run::start(['tools/demo/demo.sh'], '<', \undef, '>', \$demo->{output}, '2>', \$demo->{error});
	return $demo;
}

# Returns its exit status. Its log is put next to those of the tests' servers.
sub finish_demo
{
	my ($demo) = @_;
	$demo->{run}->finish;
	note $demo->{output}, $demo->{error};
	copy("$demo->{folder}/server.log", "$PostgreSQL::Test::Utils::log_path/$demo->{name}.log");
	ok(!-e "$demo->{folder}/data/postmaster.pid", "$demo->{name}: its server is stopped");
	IPC::Run::run([ 'pgrep', '-f', "$demo->{folder}/" ], '>', \my $left);
	is($left, '', "$demo->{name}: none of its processes is left");
	return $demo->{run}->result(0);
}

# The numbers of ids and of duplicates, of Instagram's function and of next_id, in each row of the table.
sub rows
{
	my ($demo) = @_;
	my $number = qr/([\d,]+)/;
	my @rows = $demo->{output} =~ /^    \S.{35}\s+$number\s+$number\s+$number\s+$number$/mg;
	return map { [ map { tr/,//dr } splice @rows, 0, 4 ] } 1 .. @rows / 4;
}

sub sum { my ($column, @rows) = @_; my $sum = 0; $sum += $_->[$column] for @rows; return $sum; }

# Both runs at the same time: they wait more than they compute.
my $demo = start_demo('demo');
my $repeating = start_demo('repeating', DEMO_CALL => 'baseline.next_id()');

is(finish_demo($demo), 0, 'exit status of the demo');
is($demo->{error}, '', 'nothing but its output');
my @lines = split /\n/, $demo->{output};
cmp_ok(scalar @lines, '<=', 50, 'lines of a screen');
is(scalar(grep { length > 100 } @lines), 0, 'none wider than 100 columns');

my @rows = rows($demo);
is(scalar @rows, 3, 'rows of the table');
is(scalar(grep { $_->[0] < 2_000 || $_->[2] < 2_000 } @rows), 0, 'ids enough of both in each');
is(sum(3, @rows), 0, 'next_id: no duplicates');
is(scalar(grep { $_->[1] == 0 } @rows[1, 2]), 0, 'the recipe: duplicates after each fault');
my $last = $lines[-1] =~ tr/,//dr;
is( $last,
	sprintf("Duplicates: Instagram's function %d in %d ids; ids.next_id() 0 in %d ids.", map { sum($_, @rows) } 1, 0, 2),
	'the closing line adds up');
like($demo->{output}, qr/^     lighthouse \| \d{19} \| 20.* \|     5 \|/m, 'an id taken apart');
like($demo->{output}, qr/^    published +\| 2026-11-21 12:00:00\.123454\+00$/m, 'a time that is read wrongly');
like($demo->{output}, qr/^    uuid_v1_timestamp +\| 2026-11-21 12:00:00\.123455\+00$/m, 'and by uuid_v1_timestamp rightly');
like($demo->{output}, qr/^    Of 1000 times, .* published one reads [1-9]\d* wrongly, uuid_v1_timestamp 0\.$/m, 'and how many');

isnt(finish_demo($repeating), 0, 'the demo fails if next_id generates duplicates');
like($repeating->{output}, qr/ids\.next_id\(\) [1-9][\d,]* in [\d,]+ ids\.$/, 'and says so');

my @commands = split /\n/, qx(make -n demo);
like($commands[0], qr/ minutes,/, 'make demo first says how long it takes');
like($commands[1], qr/g\+\+ .*make .*postgresql-NN .*libfaketime/, 'and what it installs');

done_testing();
