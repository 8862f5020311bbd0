# docs/inspect.html in Chromium: a headless browser with one tab, and functions to act and to look there.
package Browser;

use strict;
use warnings;
use Cwd 'getcwd';
use Exporter 'import';
use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More ();

our @EXPORT = qw(start_browser stop_browser call js open_page page_url events);

my ($to_browser, $from_browser, $browser, $session, @events);
my ($calls, $received) = (0, '');

sub page_url { return 'file://' . getcwd() . '/docs/inspect.html' }

# The events of this name that the browser has reported.
sub events { my ($method) = @_; return map { $_->{params} } grep { $_->{method} eq $method } @events }

# Starts it in the time zone of Berlin; if there is no Chromium, ends the test.
sub start_browser
{
	my ($program) = grep { -x } map { "$_/chromium-headless-shell" } split /:/, $ENV{PATH};
	Test::More::plan(skip_all => 'no archive has chromium-headless-shell') unless $program;
	pipe my $its_input, $to_browser or die;
	pipe $from_browser, my $its_output or die;
	$browser = fork // die;
	if (!$browser)
	{
		# It reads descriptor 3 and writes 4.
		POSIX::dup2(@$_) for [ fileno $its_input, 20 ], [ fileno $its_output, 21 ], [ 20, 3 ], [ 21, 4 ];
		POSIX::close($_) for 20, 21;
		open STDERR, '>', "$PostgreSQL::Test::Utils::log_path/browser.log" or die;
		$ENV{TZ} = 'Europe/Berlin';
		exec $program, qw(--no-sandbox --disable-gpu --remote-debugging-pipe),
		  '--user-data-dir=' . PostgreSQL::Test::Utils::tempdir(), 'about:blank';
	}
	close $_ for $its_input, $its_output;
	$SIG{ALRM} = sub { die 'the browser does not answer' };
	alarm 180;    # as long as this for each script, too
	my $tab = call('Target.createTarget', url => 'about:blank')->{targetId};
	$session = call('Target.attachToTarget', targetId => $tab, flatten => JSON::PP::true)->{sessionId};
	call("$_.enable") for qw(Page Runtime Network Log);
	return;
}

sub stop_browser
{
	call('Browser.close');
	waitpid $browser, 0;
	return;
}

# Sends a command of the browser's protocol: JSON, each message ended by a zero byte.
sub call
{
	my ($method, %params) = @_;
	my $message = { id => ++$calls, method => $method, params => \%params, $session ? (sessionId => $session) : () };
	syswrite $to_browser, encode_json($message) . "\0" or die;
	while (1)
	{
		while ($received !~ /\0/)
		{
			sysread $from_browser, $received, 65536, length $received or die 'the browser has ended';
		}
		(my $text, $received) = split /\0/, $received, 2;
		my $answer = decode_json($text);
		push @events, $answer unless $answer->{id};
		next unless ($answer->{id} // 0) == $calls;
		die "$method: $answer->{error}{message}" if $answer->{error};
		return $answer->{result};
	}
}

# The result of JavaScript in the page; the argument is its "given".
sub js
{
	alarm 180;
	return evaluate(@_);
}

sub evaluate
{
	my ($code, $argument) = @_;
	my $given = JSON::PP->new->ascii->allow_nonref->encode($argument);
	my $got = call('Runtime.evaluate', expression => "(async (given) => { $code })($given)",
		awaitPromise => JSON::PP::true, returnByValue => JSON::PP::true);
	die $got->{exceptionDetails}{exception}{description} if $got->{exceptionDetails};
	return $got->{result}{value};
}

# Opens a new page with this fragment. JavaScript there has functions that set a field, return an element's text, and
# choose a layout: by its own fields if the page has no such name.
sub open_page
{
	my ($fragment) = @_;
	call('Page.navigate', url => $_) for 'about:blank', page_url() . "#$fragment";
	until (evaluate(q(return document.readyState === 'complete' && location.protocol === 'file:'))) { }
	js(<<'JS');
globalThis.put = (id, value) => {
    const field = document.getElementById(id);
    field.value = value;
    field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
};
globalThis.seen = (id) => {
    const shown = document.getElementById(id);
    return shown.checkVisibility() ? shown.textContent : '';
};
globalThis.part = (name) => document.querySelector(`[data-part="${name}"]`).textContent;
globalThis.choose = ({ layout, epoch, shard_bits, sequence_bits }) => {
    const isPreset = [...document.getElementById('layout').options].some(({ value }) => value === layout);
    put('layout', isPreset ? layout : 'own');
    if (!isPreset) [['epoch', epoch], ['shard-bits', shard_bits], ['sequence-bits', sequence_bits]].forEach((pair) => put(...pair));
};
JS
	return;
}

1;
