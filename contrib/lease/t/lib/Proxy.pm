# A TCP proxy on the loopback in front of a registry. Its mode says what happens to each connection:
#
#     pass
#     refuse           the port is closed, and connections are cut
#     swallow          connections are accepted, and no byte arrives
#     delay MS         every byte is late by MS milliseconds, in both directions
#     cut_before       the connection is cut when a request is sent; the request does not arrive
#     cut_after        the connection is cut when the request is answered; the answer does not arrive
#     late_request MS  a request arrives MS milliseconds late, even if its sender has disconnected
#     late_answer MS   the answer arrives MS milliseconds late
#     release          what is late arrives now
#
# A request is a call of grant_shards(), and that of receipts() after it is part of its answer; except with the name of
# the function after the milliseconds: "late_answer 4000 receipts". The proxy cannot see requests within TLS.
package Proxy;

use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket;
use Time::HiRes 'time';

# For the server that listens on this port of the loopback.
sub new
{
	my ($class, $upstream) = @_;
	my $listener = listen_on(0);
	my ($here, $there) = IO::Socket->socketpair(AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!";
	my $self = bless { port => $listener->sockport, upstream => $upstream, mode => 'pass', parent => $$, control => $here }, $class;
	$self->{pid} = fork // die "fork: $!";
	return $self if $self->{pid};
	$SIG{$_} = 'DEFAULT' for qw(TERM INT);
	$SIG{PIPE} = 'IGNORE';
	close $here;
	my $served = eval { $self->serve($listener, $there); 1 };
	print STDERR "proxy: $@" unless $served;
	POSIX::_exit(0);
}

sub port { return $_[0]{port} }

# Sets the mode from now on, for existing connections as well.
sub mode { my ($self, $mode) = @_; $self->{mode} = $mode; return $self->held }

# New connections lead to this port from now on.
sub lead_to { my ($self, $upstream) = @_; $self->{upstream} = $upstream; return $self->held }

# The number of messages that were held back so far.
sub held { return ($_[0]->counts)[0] }

# The number of connections, with those whose sender has disconnected while its request is still under way.
sub links { return ($_[0]->counts)[1] }

# Returned when the process does what it is told.
sub counts
{
	my ($self) = @_;
	syswrite $self->{control}, "$self->{upstream} $self->{mode}";
	sysread $self->{control}, my $counts, 100 or die 'the proxy has ended';
	return split / /, $counts;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $@);
	return if $$ != $self->{parent};
	kill 'TERM', $self->{pid};
	waitpid $self->{pid}, 0;
	return;
}

# --- The process that serves.

sub listen_on
{
	my ($port) = @_;
	return IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 64, ReuseAddr => 1)
	  // die "cannot listen: $!";
}

sub serve
{
	my ($self, $listener, $control) = @_;
	my @links;    # client and server, the bytes that are under way to each, and what was seen of requests
	$self->{held} = 0;
	while (1)
	{
		my ($mode, $ms, $function) = split / /, $self->{mode};
		my $listens = $mode ne 'refuse' && $mode ne 'swallow';
		$listener //= listen_on($self->{port}) if $listens;
		my %link_of = map { my $link = $_; map { $link->{$_} ? ($link->{$_} => [ $link, $_ ]) : () } qw(client server) } @links;
		for my $socket (IO::Select->new($control, $listens ? ($listener, map { @$_{qw(client server)} } @links) : ())->can_read(0.01))
		{
			if ($socket == $control)
			{
				# Its other end is closed when the test has ended.
				sysread $control, my $order, 100 or return;
				@$self{qw(upstream mode)} = split / /, $order, 2;
				if ($self->{mode} eq 'refuse')
				{
					close $listener if $listener;
					undef $listener;
					close_link($_) for splice @links;
				}
				syswrite $control, "$self->{held} " . @links;
				last;
			}
			if ($socket == $listener)
			{
				my $client = $listener->accept;
				my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{upstream});
				push @links, { client => $client, server => $server, queue => [] } if $client && $server;
				next;
			}
			my ($link, $side) = @{ $link_of{$socket} };
			receive($self, $link, $side, $mode, ($ms // 0) / 1000, $function) if $link->{$side};
		}
		next unless $listens;
		deliver($_, $mode eq 'release') for @links;
		@links = grep { $_->{client} || $_->{server} } @links;
	}
}

sub close_link
{
	my ($link) = @_;
	close $_ for grep { $_ } delete @$link{qw(client server)};
	return;
}

# Reads what one side has sent, or that it has disconnected: what is under way still arrives.
sub receive
{
	my ($self, $link, $side, $mode, $late, $function) = @_;
	my $from_client = $side eq 'client';
	my $bytes;
	if (!sysread $link->{$side}, $bytes, 65536)
	{
		close delete $link->{$side};
		return;
	}
	my ($request) = $from_client ? $bytes =~ /\b(grant_shards|receipts)\b/ : ();
	undef $request if $request && $request ne ($function // 'grant_shards');
	$link->{asked} = 1 if $request;
	if ($mode eq 'cut_before' && $request || $mode eq 'cut_after' && !$from_client && $link->{asked})
	{
		close_link($link);
		return;
	}
	my $is_late = $mode eq 'delay' || $mode eq 'late_request' && $request
	  || $mode eq 'late_answer' && !$from_client && $link->{asked};
	$self->{held}++ if $is_late;
	$link->{is_late} = 1 if $mode eq 'late_request' && $request;
	delete $link->{is_late} unless $from_client;
	# Bytes keep their order.
	my $to = $from_client ? 'server' : 'client';
	my ($last) = grep { $_->{to} eq $to } reverse @{ $link->{queue} };
	my $due = time + ($is_late ? $late : 0);
	$due = $last->{due} if $last && $last->{due} > $due;
	push @{ $link->{queue} }, { to => $to, due => $due, bytes => $bytes };
	return;
}

sub deliver
{
	my ($link, $is_released) = @_;
	for my $next (splice @{ $link->{queue} })
	{
		if ($next->{due} > time && !$is_released)
		{
			push @{ $link->{queue} }, $next;
		}
		elsif ($link->{ $next->{to} })
		{
			syswrite $link->{ $next->{to} }, $next->{bytes};
		}
	}
	my $is_wanted = $link->{server} && ($link->{client} || $link->{is_late});
	close_link($link) unless @{ $link->{queue} } || $is_wanted;
	return;
}

1;
