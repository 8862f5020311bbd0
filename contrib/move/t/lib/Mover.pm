# contrib/move/move_shard.py, for its tests: two servers, of which one has the shard, what the mover says, and sessions.
package Mover;

use ShardidTest;
use Exporter 'import';

our @EXPORT = qw(start_with_shard_on on address start_mover mover moves stops
  session talk answer_of send_to answer close_session hold_marker start_writers await_writers stop_writers
  %node $said $insert $draw);
our (%node, $said);
our $insert = q(INSERT INTO shard5.photos (name) VALUES ('new') RETURNING id;);
our $draw = q(SELECT next_id(5, 'shard5.ids'););
# Each mover would compile its modules.
@ENV{qw(PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX)} = ('', PostgreSQL::Test::Utils::tempdir_short());

# With a second argument, the file of a fake clock, that is the clock of south.
sub start_with_shard_on
{
	my ($name, $clock) = @_;
	my $conf = "max_prepared_transactions = 5\nwal_retrieve_retry_interval = 100ms\nautovacuum = off\n";
	$node{north} = new_node('north', $conf, allows_streaming => 'logical');
	my $start_south = sub { $node{south} = new_node('south', $conf, allows_streaming => 'logical') };
	if ($clock) { with_fake_clock($clock, $start_south) }
	else { $start_south->() }
	on($name, slurp_file('contrib/move/shard.sql'));
	return;
}

sub on { my ($name, $sql) = @_; return $node{$name}->safe_psql('postgres', $sql) }
sub address { my ($name, $dbname) = @_; return $node{$name}->connstr($dbname // 'postgres') }

# One that runs; what it says is kept.
sub start_mover
{
	my ($command, $from, $to, @options) = @_;
	my @args = map { ("--$_->[0]", $_->[1] =~ /=/ ? $_->[1] : address($_->[1])) } [ from => $from ], [ to => $to ];
	$said = '';
	return IPC::Run::start([ 'contrib/move/move_shard.py', '--patience', 600, @options, $command, 'shard5', @args ],
		'>&', \$said, guard("move_shard.py $command"));
}

# Returns how it ended.
sub mover
{
	start_mover(@_)->finish;
	return $? >> 8;
}

# Each command ends with the next one, which tells the state.
my %next = (copy => 'switch: when', switch => 'finish', finish => 'nothing', undo => 'copy');

sub moves
{
	my ($command, $from, $to, @options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $next = "@options" =~ /--dry-run/ ? 'copy' : $next{$command};
	is(mover(@_), 0, "$command from $from to $to" . join ' ', '', @options);
	return like($said, qr/^next +$next/m, "then $next");
}

sub stops
{
	my ($pattern, $what, @args) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(mover(@args), 1, "$what: stops");
	return like($said, $pattern, "$what: says why");
}

# Clients that change between the servers; each session's file has the ids that it received.
sub start_writers
{
	my ($file, $sessions, $pause_ms, @statements) = @_;
	my @command = ('contrib/move/writer.py', '--sessions', $sessions, '--pause-ms', $pause_ms,
		(map { ('--statement', $_) } @statements), $file, map { address($_) } qw(north south));
	my $writers = { error => '', files => [ map { "$file.$_" } 1 .. $sessions ] };
	$writers->{run} = IPC::Run::start(\@command, '>&', \$writers->{error});
	return $writers;
}

# Until each session has received ids, of this server, by its number, if one is named.
sub await_writers
{
	my ($server, @writers) = @_;
	my $is_of = defined $server ? qr/ $server$/m : qr/\n/;
	return await_event('ids of each writer', sub { return !grep { !-e || slurp_file($_) !~ $is_of } map { @{ $_->{files} } } @writers });
}

sub stop_writers
{
	for my $writers (@_)
	{
		$writers->{run}->signal('TERM');
		$writers->{run}->finish;
		is($writers->{error}, '', 'the writers were refused at most');
	}
	return;
}

# A session that stays; what it answers, an error as its SQLSTATE.
sub session { return open_session($node{ $_[0] }, '-v', 'VERBOSITY=sqlstate') }
sub talk { return ask(@_) =~ s/^NOTICE.*\n?//mgr =~ s/\n\z//r }

# A session that keeps the target from getting the source's last write.
sub hold_marker
{
	my $session = session(@_);
	talk($session, 'BEGIN; LOCK TABLE shard_move.marker IN EXCLUSIVE MODE;');
	return $session;
}

sub answer_of
{
	my ($name, $sql) = @_;
	my $session = session($name);
	my $answer = talk($session, $sql);
	close_session($session);
	return $answer;
}

1;
