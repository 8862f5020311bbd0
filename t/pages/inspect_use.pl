# docs/inspect.html sends nothing and executes no input, has a link that restores its state, and can be used by keyboard
# alone, by screen reader, in the dark and on a phone: in Chromium.
use strict;
use warnings;
use Digest::SHA 'sha256_base64';
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Browser;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

# Until this is true in the page.
sub await { return js("while (!($_[0])) await new Promise((resolve) => setTimeout(resolve, 20))") }

start_browser();
my $page = slurp_file('docs/inspect.html');

# --- The file

for my $element (qw(style script))
{
	my ($text) = $page =~ m{<$element>(.*?)</$element>}s;
	my ($named) = $page =~ /$element-src '(.*?)'/;
	is($named, 'sha256-' . sha256_base64($text) . '=', "the policy names the $element of the page");
}
my ($policy) = $page =~ /Content-Security-Policy" content="(.*?)"/;
is($policy =~ s/'sha256-.*?'/HASH/gr, q(default-src 'none'; base-uri 'none'; form-action 'none'; style-src HASH; script-src HASH), 'and allows nothing else');
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
await(q(location.hash.startsWith('#value=5&')));
js(q(location.hash = '#value=175928847299117063&layout=discord'));
await(q(seen('utc') === '2016-04-30 11:18:25.796'));
pass('it follows what is typed, and another link in the same tab');
my $script = q(<img src=x onerror="document.title='run'"><script>document.title='run'</script>);
open_page('value=' . ($script =~ s/(\W)/sprintf '%%%02X', ord $1/ger) . '&layout=nothing&day=2026-99-99&zone=nowhere');
is_deeply(js(q(return [document.getElementById('value').value, document.images.length, document.title, seen('day-problem')])),
	[ $script, 0, 'Inspect an id - shardid', 'Choose a day of the calendar.' ], 'HTML in a link remains text');

# --- By keyboard alone

sub press
{
	my ($key, $code, $text) = @_;
	call('Input.dispatchKeyEvent', type => $_, key => $key, code => $key, windowsVirtualKeyCode => $code, $text ? (text => $text) : ()) for qw(keyDown keyUp);
	return;
}
open_page('day=2026-11-23');
await(q(document.activeElement.id === 'value'));    # some time after the page is complete
call('Input.insertText', text => '3fx7gzm7oo5ol');
is(js(q(return seen('utc'))), '2026-11-17 03:14:52.533', 'the field for the value has the focus');
my @visited = ('value');
while (@visited < 50)
{
	press('Tab', 9);
	my $next = js(q(const { id, textContent, tagName } = document.activeElement; return id || (tagName === 'BODY' ? '' : textContent)));
	last if $next eq '' || $next eq $visited[0];
	push @visited, $next if $next ne $visited[-1];    # the parts of a date
}
is(join(', ', @visited), 'value, an id, a text, a UUID, an ObjectId, copy-link, What other layouts would read, layout, epoch, shard-bits, sequence-bits, day, zone, copy-where',
	'Tab visits all in their order');
js(q(document.querySelector('summary').focus()));
press('Enter', 13, "\r");
press('Tab', 9);
press('Enter', 13, "\r");
is(js(q(return [document.getElementById('layout').value, document.activeElement.id].join())), 'twitter,layout', 'Enter chooses a layout that is listed');
my @focusable = grep { my $node = $_; grep { $_->{name} eq 'focusable' && $_->{value}{value} } @{ $node->{properties} // [] } }
  @{ call('Accessibility.getFullAXTree')->{nodes} };
cmp_ok(scalar @focusable, '>', 20, 'elements that can have the focus');
is(join(' ', map { $_->{role}{value} } grep { !length($_->{name}{value} // '') } @focusable), '', 'each has a name for screen readers');

# --- Copying

my $copied = q(document.getElementById('copy-where').click();
	while (!seen('copy-where').startsWith(given)) await new Promise((resolve) => setTimeout(resolve, 20));
	return given === 'Copied' ? await navigator.clipboard.readText() : String(getSelection()););
call('Browser.grantPermissions', permissions => [ 'clipboardReadWrite', 'clipboardSanitizedWrite' ]);
call('Emulation.setFocusEmulationEnabled', enabled => JSON::PP::true);
my $condition = js(q(return seen('where')));
is(js($copied, 'Copied'), $condition, 'a condition is copied');
js(q(document.getElementById('copy-where').click()));
await(q(seen('copy-where') === 'Copy'));
pass('the button says so for a while');
js(q(navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))));
is(js($copied, 'Press Ctrl+C'), $condition, 'it is selected where the browser refuses that');

# --- Light, dark, narrow

my $contrasts = slurp_file('t/pages/contrast.js');
for my $scheme (qw(light dark))
{
	call('Emulation.setEmulatedMedia', features => [ { name => 'prefers-color-scheme', value => $scheme } ]);
	is(js(q(put('value', '-9203679173715945767');) . $contrasts), '', "$scheme: each text has contrast");
	is(js(q(put('value', 'nothing'); put('day', '');) . $contrasts), '', "$scheme: errors, too");
}
call('Emulation.setDeviceMetricsOverride', width => 320, height => 700, deviceScaleFactor => 1, mobile => JSON::PP::true);
is(js(q(put('value', given); return document.documentElement.scrollWidth), $_), 320, "on a phone, $_ fits") for '-9203679173715945767', '1ec9414c-232a-6b00-b3c8-9f6bdeced846';

# --- Nothing leaves the page

is(join(' ', map { $_->{entry}{text} } grep { $_->{entry}{level} eq 'error' } events('Log.entryAdded')), '', 'no violation of the policy');
is(join(' ', map { $_->{exceptionDetails}{text} } events('Runtime.exceptionThrown')), '', 'no exception');
my $own = page_url();
is(join(' ', grep { !/^(?:about:blank$|data:|\Q$own\E$)/ } map { $_->{request}{url} } events('Network.requestWillBeSent')), '', 'nothing is requested except the page');
is(js(<<'JS'), 'connect-src img-src script-src-attr', 'and the policy refuses it');
const refused = [];
document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => refused.push(effectiveDirective));
await fetch('http://127.0.0.1:9/').catch(() => {});
document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/' }));
const button = document.body.appendChild(document.createElement('button'));
button.setAttribute('onclick', 'document.title = "run"');
button.click();
for (let tries = 0; refused.length < 3 && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
return refused.sort().join(' ');
JS

stop_browser();
done_testing();
