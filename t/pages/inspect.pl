# docs/inspect.html shows ids, days, UUIDs and ObjectIds as examples/decoding/vectors.json says, in Chromium; other
# input it refuses, with the reason. It sends nothing, executes no input, and has a link that restores its state.
use Cwd 'getcwd';
use JSON::PP;
use utf8;
use ShardidTest;

# --- A headless browser with one tab, and functions to act and to look there

my ($to_browser, $from_browser, $browser, $session, @events);
my ($calls, $received) = (0, '');

my $page_url = 'file://' . getcwd() . '/docs/inspect.html';

# For each script and each page.
sub set_guard { return alarm $PostgreSQL::Test::Utils::timeout_default }

# The events of this name that the browser has reported.
sub events { my ($method) = @_; return map { $_->{params} } grep { $_->{method} eq $method } @events }

# Starts it in the time zone of Berlin; if there is no Chromium, ends the test.
sub start_browser
{
	my ($program) = grep { -x } map { "$_/chromium-headless-shell" } split /:/, $ENV{PATH};
	plan(skip_all => 'no archive has chromium-headless-shell') unless $program;
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
	$SIG{ALRM} = sub { die guard_said('waiting for the browser') };
	set_guard();
	my $tab = call('Target.createTarget', url => 'about:blank')->{targetId};
	$session = call('Target.attachToTarget', targetId => $tab, flatten => JSON::PP::true)->{sessionId};
	call("$_.enable") for qw(Page Runtime Network Log);
	call('Page.setLifecycleEventsEnabled', enabled => JSON::PP::true);
	return;
}

# Sends a command of the browser's protocol: JSON, each message ended by a zero byte.
sub call
{
	my ($method, %params) = @_;
	my $message = { id => ++$calls, method => $method, params => \%params, $session ? (sessionId => $session) : () };
	syswrite $to_browser, encode_json($message) . "\0" or die;
	my $answer;
	do { $answer = next_message() } until ($answer->{id} // 0) == $calls;
	die "$method: $answer->{error}{message}" if $answer->{error};
	return $answer->{result};
}

sub next_message
{
	sysread $from_browser, $received, 65536, length $received or die 'the browser has ended' while $received !~ /\0/;
	(my $text, $received) = split /\0/, $received, 2;
	my $message = decode_json($text);
	push @events, $message unless $message->{id};
	return $message;
}

# The result of JavaScript in the page; the argument is its "given".
sub js
{
	my ($code, $argument) = @_;
	set_guard();
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
	set_guard();
	for my $url ('about:blank', "$page_url#$fragment")
	{
		# Scripts that run in a page while it is replaced may get no answer.
		my $loader = call('Page.navigate', url => $url)->{loaderId};
		next_message() until grep { $_->{name} eq 'load' && $_->{loaderId} eq $loader } events('Page.lifecycleEvent');
	}
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

# --- The page

start_browser();
open_page('');
my $vectors = decode_json(slurp_file('examples/decoding/vectors.json'));

sub with_layout { return { %{ $_[0] }, %{ $vectors->{layouts}{ $_[0]{layout} } } } }
sub shown_time { return $_[0]{time} =~ tr/TZ/ /dr }

# Tests that the page shows the wanted text for each vector; the JavaScript enters the vector and returns what is shown.
sub shows
{
	my ($name, $vectors, $code, @wanted) = @_;
	return is_deeply(js("return given.map((vector) => { $code });", $vectors), \@wanted, "$name: " . @wanted);
}

# --- The vectors

my @ids = map { with_layout($_) } @{ $vectors->{ids} };
shows('ids, their texts, and these as somebody types them', \@ids, <<'JS',
if (vector.layout !== globalThis.chosen) choose(vector);
globalThis.chosen = vector.layout;
const isNumber = /^[1-9]\d*$/.test(vector.text);
const typed = vector.text.toLowerCase().replace(/0/g, 'o').replace(/1/g, 'l');
return [vector.id, ...(isNumber ? [] : [vector.text, typed])].map((value) => {
    put('value', value);
    return [seen('utc'), ...['Shard', 'Sequence', 'Id', 'Text'].map(part), seen('value-problem')].join();
}).join(' ');
JS
	map { join ' ', (join ',', shown_time($_), @$_{qw(shard sequence id text)}, '') x ($_->{text} =~ /^[1-9]\d*$/ ? 1 : 3) } @ids);

my @days = map { with_layout($_) } @{ $vectors->{days} };
shows('days', \@days, q(choose(vector); put('day', vector.day); return seen('where');), map { "WHERE $_->{where}" } @days);
for my $version ([ 1, 6 ], [7])
{
	my @uuids = grep { my $u = $_; grep { $u->{version} == $_ } @$version } @{ $vectors->{uuids} };
	my @names = $version->[0] == 7 ? () : ('Clock sequence', 'Node');
	shows("UUIDs of version @$version", \@uuids,
		q(put('value', `{${vector.uuid.toUpperCase()}}`); return [seen('kind'), seen('utc'), part('UUID'), ) . join(', ', map { "part('$_')" } @names) . '].join();',
		map { join ',', "UUID of version $_->{version}", shown_time($_), $_->{uuid}, @names ? @$_{qw(clock_seq node)} : () } @uuids);
}
shows('ObjectIds', $vectors->{objectids}, q(put('value', `\\\\x${vector.objectid}`); return [seen('utc'), part('Machine and process'), part('Counter')].join();),
	map { join ',', shown_time($_), @$_{qw(process counter)} } @{ $vectors->{objectids} });
shows('refused texts', $vectors->{refused}, q(put('value', vector.text); return vector.text === '' || seen('value-problem') !== '' ? seen('utc') : 'read';),
	map { '' } @{ $vectors->{refused} });

# --- Layouts

my %rows = slurp_file('docs/layouts.md') =~ /^\| (\w[^|]*?) \| (\d{4}-.*? \| \d+ \| \d+) \|/mg;
delete $rows{'as many machines as Sonyflake'};
my %row_of = ('shardid, Instagram' => 'Instagram (the default)', 'pgEdge, from 1.2 on' => 'pgEdge snowflake, 1.2 and later',
	'pgactive' => 'pgactive (Amazon RDS)');
my $presets = js(<<'JS');
return [...document.getElementById('layout').options].slice(0, -1).map(({ value, label }) => {
    put('layout', value);
    return [label, ['epoch', 'shard-bits', 'sequence-bits'].map((id) => document.getElementById(id).value).join(' | ')];
});
JS
is_deeply({ map { ($row_of{ $_->[0] } // $_->[0] => $_->[1]) } @$presets }, \%rows, 'the presets are the layouts of docs/layouts.md');
my %refusal_of = (
	'epoch 2026-01-01' => qr/^Write the epoch with its time zone/,
	'epoch 2026-02-30 00:00Z' => qr/no such time/,
	'epoch 2026-01-01 00:00:00.0001Z' => qr/whole millisecond/,
	'shard-bits 32' => qr/^The shard bits are a whole number from 0 to 31/,
	'sequence-bits 20' => qr/at most 32 bits together/);
like(js(q(choose({ layout: 'shardid' }); put('value', '1'); put(...given); return ['utc', 'where', 'layout-problem'].map(seen).join('')), [ split / /, $_, 2 ]),
	$refusal_of{$_}, "$_ is refused")
  for sort keys %refusal_of;
# --- What is wrong with a value, or not sure

js(q(choose({ layout: 'shardid' })));
my %problem_of = (
	'12' x 11 => qr/^This number has more than 64 bits/,
	'-9223372036854775809' => qr/^This number has more than 64 bits/,
	'4.032112536055715e+18' => qr/^A program has rounded this number.*id::text/,
	'40.5' => qr/whole number/,
	'photo 12' => qr/^This is 8 characters long.*13 characters/,
	'3FX7-GZM70050' => qr/character 5 is “-”/,
	'3FX7GZM70050U' => qr/except U: character 13 is “U”/,
	'G000000000000' => qr/first character has to be 0 to 9 or A to F/,
	'507f1f77bcf86cd7994390' => qr/^These are 22 hexadecimal digits\. A UUID has 32/,
	'919108f7-52d1-4320-9bac-f847db4148a8' => qr/version 4 is random: it carries no time/,
	'c232ab00-9414-11ec-c3c8-9f6bdeced846' => qr/RFC 9562.*digit 17 is “c”/,
	'00000000-0000-0000-0000-000000000000' => qr/nil UUID/);
like(js(q(put('value', given); return seen('value-problem')), $_), $problem_of{$_}, "what is wrong with $_") for sort keys %problem_of;
is(js(q(put('value', ' 4_032_112_536_055_714_817 '); return seen('utc'))), '2026-11-17 03:14:52.533', 'a number in groups of digits');
is(js(q(return given.map(([layout, value]) => { choose({ layout }); put('value', value); return seen('warning').slice(0, 22); }).join('|')),
		[ map { [ split / / ] } 'shardid 5120', 'shardid 8589934592', 'discord 5120', 'shardid 4032112536055714817' ]),
	'A number this small is|||', 'a number of a sequence');
# --- Local time: Berlin's day has 25 hours at the end of summer time

is(js(q(put('value', '4032112536055714817'); return seen('local'))), '2026-11-17 04:14:52.533 +01:00, local time (Europe/Berlin)', 'local time');
my $begin = (1792879200000 - 1314220021721) << 23;
is(js(q(put('zone', 'local'); put('day', '2026-10-25'); return seen('where'))), sprintf('WHERE id >= %d AND id < %d', $begin, $begin + (90000000 << 23)), 'a local day');

# --- The file, whose script and style run by their hashes

my $page = slurp_file('docs/inspect.html');
my ($policy) = $page =~ /Content-Security-Policy" content="(.*?)"/;
is($policy =~ s/'sha256-.*?'/HASH/gr, q(default-src 'none'; base-uri 'none'; form-action 'none'; style-src HASH; script-src HASH), 'the policy allows nothing else');
is(join(' ', $page =~ /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|localStorage|https?:|\ssrc=|\shref=|\@import|url\(/g),
	'', 'no text becomes HTML or code, nothing is stored, nothing is named that could be fetched');

# --- The link

my $state = q(return [...document.querySelectorAll('input, select')].map(({ value }) => value).concat(seen('utc'), seen('where')).join('|'););
open_page('');
my $before = js(q(choose({ layout: 'my own', epoch: '2024-05-06 07:08:09+02', shard_bits: '7', sequence_bits: '9' });
	put('value', '-123456789012'); put('zone', 'local'); put('day', '2026-10-25'); document.getElementById('copy-link').click();) . $state);
my $fragment = js(q(return location.hash.slice(1)));
is($fragment, 'value=-123456789012&layout=own&epoch=2024-05-06+07%3A08%3A09%2B02&shard_bits=7&sequence_bits=9&day=2026-10-25&zone=local', 'the link carries all');
open_page($fragment);
is(js($state), $before, 'and restores it');
js(q(put('value', '5')));
await_event('the link follows what is typed', sub { return js(q(return location.hash.startsWith('#value=5&'))) });
js(q(location.hash = '#value=175928847299117063&layout=discord'));
await_event('the page follows another link in the same tab', sub { return js(q(return seen('utc') === '2016-04-30 11:18:25.796')) });
my $script = q(<img src=x onerror="document.title='run'"><script>document.title='run'</script>);
open_page('value=' . ($script =~ s/(\W)/sprintf '%%%02X', ord $1/ger) . '&layout=nothing&day=2026-99-99&zone=nowhere');
is_deeply(js(q(return [document.getElementById('value').value, document.images.length, document.title, seen('day-problem')])),
	[ $script, 0, 'Inspect an id - shardid', 'Choose a day of the calendar.' ], 'HTML in a link remains text');

# --- Nothing leaves the page

is(join(' ', map { $_->{entry}{text} } grep { $_->{entry}{level} eq 'error' } events('Log.entryAdded')), '', 'no violation of the policy');
is(join(' ', map { $_->{exceptionDetails}{text} } events('Runtime.exceptionThrown')), '', 'no exception');
is(join(' ', grep { !/^(?:about:blank$|data:|\Q$page_url\E$)/ } map { $_->{request}{url} } events('Network.requestWillBeSent')), '', 'nothing is requested except the page');
is(js(<<'JS'), 'connect-src img-src script-src-attr', 'and the policy refuses it');
const refused = [];
document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => refused.push(effectiveDirective));
await fetch('http://127.0.0.1:9/').catch(() => {});
document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/' }));
const button = document.body.appendChild(document.createElement('button'));
button.setAttribute('onclick', 'document.title = "run"');
button.click();
while (refused.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
return refused.sort().join(' ');
JS

call('Browser.close');
waitpid $browser, 0;
done_testing();
