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
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time usleep);

# For the server that listens on this port of the loopback.
sub new
{
	my ($class, $upstream) = @_;
	my $self = bless { dir => PostgreSQL::Test::Utils::tempdir(), upstream => $upstream, mode => 'pass' }, $class;
	my $listener = listen_on(0);
	$self->{port} = $listener->sockport;
	$self->write_state;
	append_to_file("$self->{dir}/$_", '') for qw(held seen);
	append_to_file("$self->{dir}/links", '0');
	my $parent = $$;
	$self->{parent} = $parent;
	$self->{pid} = fork // die "fork: $!";
	return $self if $self->{pid};
	$SIG{$_} = 'DEFAULT' for qw(TERM INT);
	$SIG{PIPE} = 'IGNORE';
	my $served = eval { $self->serve($listener, $parent); 1 };
	print STDERR "proxy: $@" unless $served;
	POSIX::_exit(0);
}

sub port { return $_[0]{port} }

# Sets the mode from now on, for existing connections as well.
sub mode
{
	my ($self, $mode) = @_;
	$self->{mode} = $mode;
	$self->write_state;
	return;
}

# New connections lead to this port from now on.
sub lead_to
{
	my ($self, $upstream) = @_;
	$self->{upstream} = $upstream;
	$self->write_state;
	return;
}

# The number of messages that were held back so far.
sub held { return -s "$_[0]{dir}/held" }

# The number of connections, with those whose sender has disconnected while its request is still under way.
sub links { return slurp_file("$_[0]{dir}/links") }

sub write_state
{
	my ($self) = @_;
	my $state = "$self->{upstream} $self->{mode}";
	$self->write_file('state', $state);
	usleep 2_000 while $self->{pid} && slurp_file("$self->{dir}/seen") ne $state;
	return;
}

sub write_file
{
	my ($self, $name, $text) = @_;
	open my $file, '>', "$self->{dir}/$name.new" or die;
	print $file $text;
	close $file;
	rename "$self->{dir}/$name.new", "$self->{dir}/$name" or die;
	return;
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
	my ($self, $listener, $parent) = @_;
	my @links;    # client and server, the bytes that are under way to each, and what was seen of requests
	my ($written, $seen) = (0, '');
	while (getppid() == $parent)
	{
		my $state = slurp_file("$self->{dir}/state");
		my ($upstream, $mode, $ms, $function) = split / /, $state;
		if ($mode eq 'refuse')
		{
			close $listener if $listener;
			undef $listener;
			close_link($_) for splice @links;
		}
		$self->write_file('seen', $seen = $state) if $seen ne $state;
		if ($mode eq 'refuse' || $mode eq 'swallow')
		{
			usleep 10_000;
			next;
		}
		$listener //= listen_on($self->{port});
		my %link_of = map { my $link = $_; map { $link->{$_} ? ($link->{$_} => [ $link, $_ ]) : () } qw(client server) } @links;
		for my $socket (IO::Select->new($listener, map { @$_{qw(client server)} } @links)->can_read(0.01))
		{
			if ($socket == $listener)
			{
				my $client = $listener->accept;
				my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $upstream);
				push @links, { client => $client, server => $server, queue => [] } if $client && $server;
				next;
			}
			my ($link, $side) = @{ $link_of{$socket} };
			receive($self, $link, $side, $mode, ($ms // 0) / 1000, $function) if $link->{$side};
		}
		deliver($_, $mode eq 'release') for @links;
		@links = grep { $_->{client} || $_->{server} } @links;
		$self->write_file('links', $written = @links) if $written != @links;
	}
	return;
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
	append_to_file("$self->{dir}/held", '.') if $is_late;
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
