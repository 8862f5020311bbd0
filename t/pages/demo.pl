# The demo: it first says what it installs, its output fits on a screen, its counts are those of the judge, and it leaves
# nothing running.
use File::Copy;
use ShardidTest;

# In a sandbox of its own, next to that of the tests, with fewer ids than in make demo, but in most milliseconds some.
my $folder = "$ENV{SANDBOX}/demo";
mkdir $folder or die "$folder: $!";
symlink "$ENV{SANDBOX}/judge", "$folder/judge" or die;
my ($output, $error) = ('', '');
{
	local %ENV = (%ENV, SANDBOX => $folder, DEMO_IDS => 1_000, DEMO_IDS_AT_ONCE => 100, DEMO_PAUSE_MS => 200);
	ok(IPC::Run::run(['tools/demo/demo.sh'], '<', \undef, '>', \$output, '2>', \$error), 'the demo succeeds');
}
note $output, $error;
# Its log is put next to those of the servers of tests.
copy("$folder/server.log", "$PostgreSQL::Test::Utils::log_path/demo.log");
IPC::Run::run([ 'pgrep', '-f', "$folder/" ], '>', \my $left);
is($left, '', 'none of its processes is left');

# The numbers of ids and of duplicates, of Instagram's function and of next_id, in each row of the table.
my $number = qr/([\d,]+)/;
my @numbers = map { tr/,//dr } $output =~ /^    \S.{35}\s+$number\s+$number\s+$number\s+$number$/mg;
my @rows = map { [ splice @numbers, 0, 4 ] } 1 .. @numbers / 4;
sub sum { my ($column, @rows) = @_; my $sum = 0; $sum += $_->[$column] for @rows; return $sum; }

is($error, '', 'nothing but its output');
my @lines = split /\n/, $output;
cmp_ok(scalar @lines, '<=', 50, 'lines of a screen');
is(scalar(grep { length > 100 } @lines), 0, 'none wider than 100 columns');

is(scalar(grep { $_->[0] >= 2_000 && $_->[2] >= 2_000 } @rows), 3, 'three rows of the table, with ids enough of both in each');
is(sum(3, @rows), 0, 'next_id: no duplicates');
is(scalar(grep { $_->[1] == 0 } @rows[1, 2]), 0, 'the recipe: duplicates after each fault');
is($lines[-1] =~ tr/,//dr, sprintf("Duplicates: Instagram's function %d in %d ids; ids.next_id() 0 in %d ids.", map { sum($_, @rows) } 1, 0, 2),
	'the closing line adds up');
like($output, qr/^     lighthouse \| \d{19} \| 20.* \|     5 \|/m, 'an id taken apart');
like($output, qr/^    published +\| 2026-11-21 12:00:00\.123454\+00$/m, 'a time that is read wrongly');
like($output, qr/^    uuid_v1_timestamp +\| 2026-11-21 12:00:00\.123455\+00$/m, 'and by uuid_v1_timestamp rightly');
like($output, qr/^    Of 1000 times, .* published one reads [1-9]\d* wrongly, uuid_v1_timestamp 0\.$/m, 'and how many');

like(qx(make -n demo), qr/\A.* minutes,.*\n.*g\+\+ .*make .*postgresql-NN .*libfaketime/, 'make demo first says how long it takes, and what it installs');

done_testing();
