# Receipts: only for what is committed, and only for rows of the caller's role. Whatever a member's role can obtain by
# transactions that it rolls back, or that a crash ends, stops no id space; nor does a receipt of which any part was
# changed.
use Leases;
use Requests;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', <<'SQL');
CREATE ROLE other LOGIN;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO other;
SELECT shardid_lease.create_id_space('shop');
SQL
use_registry($registry, 'shop');

# What the role obtains in a transaction that ends in this way: answers, and what receipts() says within.
sub obtained_in
{
	my ($server, $end, %more) = @_;
	my $requests = request_of($server, joins => 1, %more);
	my ($status, $said, $error) = $registry->psql('postgres', <<SQL, on_error_stop => 0);
\\set VERBOSITY verbose
SET ROLE member;
BEGIN;
SELECT shardid_lease.grant_shards(\$json\$$requests\$json\$) AS answers \\gset
\\echo :answers
SAVEPOINT before;
SELECT shardid_lease.receipts(:'answers'::jsonb);
ROLLBACK TO before;
$end
SQL
	my ($answers, $rest) = split /\n/, $said, 2;
	return ($answers, $rest // '', $error);
}

sub stopped { return $registry->safe_psql('postgres', 'SELECT count(*) FROM shardid_lease.id_space WHERE was_set_back') }

# A request with anything in the receipt's place, and any answers given to receipts().
sub tries
{
	my ($what, $server, @obtained) = @_;
	for my $thing (@obtained)
	{
		my ($receipt) = $thing =~ /"receipt": "([^"]*)"/;
		ask({ %$server, receipt => $receipt // $thing });
		$registry->psql('postgres', "SET ROLE member; SELECT shardid_lease.receipts(\$json\$$thing\$json\$)") if $thing =~ /^\[/;
	}
	return is(stopped(), 0, "$what: stops nothing");
}

my $member = server(as => 'member', shard => 1, origin => 'm', place => 'm', incarnation => 'm1');
my $has = granted($member, joins => 1);
ok($has, 'a lease');
like($has->{receipt}, qr/^1\.[^.]+\.$has->{serial}\.$has->{until}\.[^.]+$/, 'a receipt has the shard, a branch, the serial, the end, and a signature');
is($registry->safe_psql('postgres', 'SET ROLE member; BEGIN; SELECT pg_current_xact_id_if_assigned() IS NULL; COMMIT'), 't', 'a transaction that changes nothing');

# --- Within the transaction that grants.

my %ends = ('rolled back' => 'ROLLBACK;', 'committed' => 'COMMIT;',
	'ended by its server' => 'RESET ROLE; SELECT pg_terminate_backend(pg_backend_pid());');
for my $end (sort keys %ends)
{
	my ($answers, $rest, $error) = obtained_in($member, $ends{$end});
	like($error, qr/ERROR:  25001: /, "$end: no receipt within the transaction");
	unlike($answers . $rest, qr/\Q$has->{serial}\E\.\d{6}|[0-9a-f]{64}/, "$end: nor anything signed");
	my $later = $registry->safe_psql('postgres', "SET ROLE member; SELECT shardid_lease.receipts(\$json\$$answers\$json\$)");
	$end eq 'committed' ? like($later, qr/"ok": true/, "$end: a receipt after it") : like($later, qr/"ok": false.*"error"/, "$end: nor after it");
	tries($end, $member, $answers, $rest, $later);
}

# --- A crash: the number of the lost transaction is used again, and so is the serial.

my $session = $registry->background_psql('postgres', on_error_die => 1);
$session->query_safe('SET ROLE member; BEGIN');
my $requests = request_of($member);
my $lost = $session->query_safe("SELECT shardid_lease.grant_shards(\$json\$$requests\$json\$)");
$session->query_safe('SAVEPOINT s');
is(state_of(1), 'held', 'others see the row as it was');
my $beside = $registry->safe_psql('postgres', "SET ROLE member; SELECT shardid_lease.receipts(\$json\$$lost\$json\$)");
like($beside, qr/"ok": false/, 'no receipt from another session while the transaction is open');
$registry->stop('immediate');
eval { $session->quit };
$registry->start;
$registry->safe_psql('postgres', 'CREATE TABLE t (n int)');
$registry->safe_psql('postgres', "INSERT INTO t VALUES ($_)") for 1 .. 5;
tries('a crash', $member, $lost, $beside);
ok(granted($member), 'the lease goes on');

# --- Rows of another role.

my $theirs = server(as => 'other', shard => 2, origin => 't', place => 't', incarnation => 't1');
my $answers = answers_to($theirs, joins => 1);
my $stolen = receipts_for($member, $answers);
ok(!$stolen->{ok}, "no receipt for a row of another role");
ok(!exists $stolen->{receipt}, 'none at all');
ok(receipts_for($theirs, $answers)->{ok}, 'but for its own role');
$answers =~ s/"origin": "t"/"origin": "m"/;
ok(!receipts_for($member, $answers)->{ok}, 'nor by its own origin');
refused('nor does the row of another role grant anything', qr/held by/, $member, shard => 2);

# --- Receipts that were tampered with, one part at a time, and of another shard.

my @parts = split /\./, $member->{receipt};
for my $part (0 .. $#parts)
{
	for my $change (sub { ($_[0] =~ /^\d+$/ ? $_[0] + 1 : $_[0] =~ tr/0-9a-f/1-9a-f0/r) }, sub { '' }, sub { "$_[0]0" })
	{
		my @changed = @parts;
		$changed[$part] = $change->($parts[$part]);
		my $made_up = join '.', @changed;
		my $said = eval { ask({ %$member, receipt => $made_up }) } // { ok => 0, error => "raised: $@" };
		ok(!$said->{ok}, "part $part changed: refused, " . ($said->{error} // '') =~ s/\n.*//sr);
	}
}
is(stopped(), 0, 'none of them stops anything');
ok(granted($member), 'the genuine one is accepted');
ok(granted({ %$theirs, receipt => $member->{receipt} }), 'one of another shard does no harm');

$registry->stop;
unlike(slurp_file($registry->logfile), qr/PANIC|TRAP:|terminated by signal (?:6|11)\b/, 'nothing worse in the log');
done_testing();
