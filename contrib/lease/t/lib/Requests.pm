# Requests of imaginary servers to a registry, in the two calls of a member: what is granted is committed before its
# receipt is asked for.
package Requests;

use strict;
use warnings;
use Exporter 'import';
use JSON::PP;
use Test::More ();
use Time::HiRes 'time';

our @EXPORT = qw(use_registry server request_of answers_to receipts_for ask granted refused state_of);

my ($node, $space);

# The registry, and the id space, of all requests from now on.
sub use_registry
{
	($node, $space) = @_;
	return;
}

# A server, which remembers its last receipt and the registry's identity, and sends them with each request.
sub server
{
	return {
		origin => 'o', incarnation => 'i', place => 'p', started => 1_000_000, database => 'd',
		host => 'h', port => 1, @_ };
}

# Its requests as JSON. What is undefined is left out.
sub request_of
{
	my ($server, %more) = @_;
	my %request = (space => $space, clock => int(1000 * time), tick => 0, %$server, %more);
	delete $request{as};
	delete @request{ grep { !defined $request{$_} } keys %request };
	$request{joins} = JSON::PP::true if $request{joins};
	return JSON::PP->new->canonical->encode([ \%request ]);
}

# The results of the last statement, which role $as runs.
sub told
{
	my ($as, $sql) = @_;
	return $node->safe_psql('postgres', "SET timezone = 'UTC';" . ($as ? "SET ROLE $as;\n" : "\n") . $sql);
}

# What grant_shards() answers, as JSON.
sub answers_to
{
	my ($server, %more) = @_;
	my $requests = request_of($server, %more);
	$requests = told($server->{as}, "SELECT shardid_lease.receipts(\$json\$$requests\$json\$)") if $requests =~ /"takes_over":/;
	return told($server->{as}, "SELECT shardid_lease.grant_shards(\$json\$$requests\$json\$)");
}

# What receipts() says about the first of the answers.
sub receipts_for
{
	my ($server, $answers) = @_;
	return decode_json(told($server->{as}, "SELECT shardid_lease.receipts(\$json\$$answers\$json\$)"))->[0];
}

sub ask
{
	my ($server, %more) = @_;
	my $said = receipts_for($server, answers_to($server, %more));
	@$server{qw(receipt registry)} = @$said{qw(receipt registry)} if $said->{ok};
	return $said;
}

sub granted { my $said = ask(@_); return $said->{ok} ? $said : undef }

# Two assertions: it is refused, for this reason.
sub refused
{
	my ($name, $error, $server, %more) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $said = ask($server, %more);
	Test::More::ok(!$said->{ok}, $name);
	return Test::More::like($said->{error} // '', $error, "$name: says why");
}

# The registry's row of a shard: "held", "released", ...
sub state_of
{
	return $node->safe_psql('postgres', "SELECT state FROM shardid_lease.granted_shard WHERE space = '$space' AND shard = $_[0]");
}

1;
