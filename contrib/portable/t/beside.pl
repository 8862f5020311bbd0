# contrib/portable/shardid.sql while other code uses its generators: a second copy of it, the extension, and another generator
# that shares their mark. It returns the same results and errors as the extension, in the same words; and of its own errors
# DETAIL has the value, and a HINT works as written.
use Boundaries;
use Portable;
use ShardidTest;

my $node = new_portable_node('beside', '', files => ['uuids_and_text']);
my @portable = (dbname => 'portable');
sub query { return $node->safe_psql('portable', $_[0]) }

sub refused { return said_of($node, $_[0], 'portable') }

# A call waits for the lock of the generator, which this session holds.
sub takes_lock
{
	my ($generator, $call, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $elsewhere = $node->connstr('portable');
	my (undef, $stdout) = $node->psql('portable', <<"SQL");
BEGIN;
SELECT pg_advisory_xact_lock(8316003854193786880 | ('$generator'::regclass::oid::bigint & 63));
\\! psql -XAtq -d "$elsewhere" -c "SET lock_timeout = '100ms'" -c "SELECT $call" 2>&1
SQL
	return like($stdout, qr/canceling statement due to lock timeout/, $name);
}

# Two copies of the file draw from one generator.
query('CREATE SCHEMA idc AUTHORIZATION ids_owner; GRANT USAGE ON SCHEMA idc TO PUBLIC; CREATE SEQUENCE joint');
run_log([ 'psql', '-Xq', '-d', $node->connstr('portable') . ' user=ids_owner options=-csearch_path=idc', '-f', 'contrib/portable/shardid.sql' ])
  or die 'the second copy does not load';
my @copies = map { start_clients($node, 3, $_, @portable, rounds => rounds(30, 8000)) } (
	q{SELECT next_id(5, 'joint')}, q{SELECT idc.next_id(5, 'joint')},
	q{SELECT next_ids(5, 30, 'joint')}, q{SELECT idc.next_ids(5, 30, 'joint')});
finish_clients($_) for @copies;
my $verdict = judge_clients(\@copies);
is_innocent($verdict, 'portable: two copies on one generator', 1);
cmp_ok($verdict->{ids}, '>', 0, "$verdict->{duplicates} of $verdict->{ids} ids of two copies are duplicates");
takes_lock('joint', "$_.next_id(5, 'joint')", "the copy in schema $_ takes the lock of the generator") for 'ids', 'idc';

# Two generators with one mark: they wait for each other, and each is right. steps.pl moves one of them.
my ($one, $other) = split /\|/, query(<<'SQL');
DO $$
BEGIN
    FOR n IN 1 .. 70 LOOP EXECUTE format('CREATE SEQUENCE twin_%s', n); END LOOP;
END
$$;
SELECT a.oid::regclass, b.oid::regclass FROM pg_class a, pg_class b
WHERE a.relkind = 'S' AND b.relkind = 'S' AND a.relname LIKE 'twin%' AND b.relname LIKE 'twin%' AND a.oid < b.oid
  AND shardid_mark_of(a.oid) = shardid_mark_of(b.oid) LIMIT 1
SQL
my @twins = map { start_clients($node, 2, "SELECT next_id(1, '$_')", @portable, rounds => rounds(25, 300)) } $one, $other;
finish_clients($_) for @twins;
is_innocent(judge_clients([$_]), 'portable: a shared mark', 1) for @twins;
# Both use one advisory lock: neither is read or set while the other is.
takes_lock($one, "next_id(1, '$_')", 'a draw takes the lock of those that share its mark') for $one, $other;

# If the extension has drawn from a generator, the portable functions refuse it until it is handed back.
query('CREATE SCHEMA ext; CREATE EXTENSION shardid SCHEMA ext; GRANT USAGE ON SCHEMA ext TO PUBLIC; CREATE SEQUENCE mixed');
my $of_extension = qr/55000: generator "ids\.mixed" is in use by the extension shardid.*run SELECT setval\('ids\.mixed', last_value\) FROM ids\.mixed/s;
query(q{SELECT next_id(5, 'mixed'), pg_sleep(0.002), ext.next_id(5, 'mixed')});
like(refused($_), $of_extension, "refused after the extension: $_")
  for q{SELECT next_id(5, 'mixed')}, q{SELECT next_ids(5, 2, 'mixed')}, q{SELECT raise_generator('mixed', 5)};
is(query(q{SELECT setval('ids.mixed', last_value) > 0 FROM ids.mixed; SELECT next_id(5, 'mixed') > 0}), "t\nt", 'the hint works as written');
my %mixed = (ids => 0, duplicates => 0);
for my $round (1 .. rounds(1, 20))
{
	query('DROP SEQUENCE mixed; CREATE SEQUENCE mixed');
	my @mixed = map { start_clients($node, 4, $_, @portable, tolerate => '55000', rounds => rounds(250, 4000)) } (
		q{SELECT next_id(5, 'mixed')}, q{SELECT ext.next_id(5, 'mixed')});
	finish_clients($_) for @mixed;
	my $found = judge_clients(\@mixed);
	$mixed{$_} += $found->{$_} for keys %mixed;
}
cmp_ok($mixed{duplicates}, '<=', 2, "the extension at the same time: $mixed{duplicates} of $mixed{ids} ids are duplicates");

# Errors have the value in DETAIL, and a HINT that works as written.
# The epoch is shown as it was passed, however the time zone's offset has changed since 1970.
like(refused(qq{SET timezone = '$_->[0]'; SELECT next_id(5, epoch => '2100-07-01 12:00:00+00')}),
	qr/22008: clock is before the epoch.*the epoch is \Q$_->[1]\E\./s, "an epoch under $_->[0]")
  for [ 'Europe/Berlin', '2100-07-01 14:00:00+02' ], [ 'UTC', '2100-07-01 12:00:00+00' ];

# A sequence that begins far ahead, by its MINVALUE.
query('CREATE SEQUENCE far MINVALUE 4611686018427387904');
my $far = refused(q{SELECT next_id(5, 'far')});
like($far, qr/55000: generator "ids\.far" is too far ahead.*HINT:  Its MINVALUE is as far ahead: run ALTER SEQUENCE ids\.far .*RESTART\./s,
	'a huge MINVALUE is named');
my ($command) = $far =~ /HINT: .* run (ALTER SEQUENCE [^.]+\.[^.]+)\./;
is(query(($command // q(SELECT 'no hint')) . q{; SELECT next_id(5, 'far') > 0}), 't', 'and what the hint says mends it');

# A sequence whose nextval does not count one by one. DETAIL has both values.
query(q{CREATE SEQUENCE changed; SELECT next_id(5, 'changed')});
for my $change (['INCREMENT BY 2', 'INCREMENT is 2 and its CACHE 1'], ['CACHE 10', 'INCREMENT is 1 and its CACHE 10'])
{
	my $changed = refused("SELECT next_id(5, 'changed'); ALTER SEQUENCE changed $change->[0]; SELECT pg_sleep(0.002); SELECT next_id(5, 'changed')");
	like($changed, qr/55000: sequence "ids\.changed" has an INCREMENT or a CACHE.*DETAIL:  Its $change->[1],/s, $change->[0]);
	my ($back) = $changed =~ /HINT:  Run (ALTER SEQUENCE .*)\.$/m;
	is(query(($back // q(SELECT 'no hint')) . q{; SELECT next_id(5, 'changed') > 0}), 't', 'and what the hint says mends it');
}

# The extension and these functions return the same. Calls of all that both have: one argument has its boundaries, the
# others usual values.
query(<<'SQL');
CREATE FUNCTION said(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text; message text; detail text; hint text;
BEGIN
    EXECUTE 'SELECT (' || call || ')::text' INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' / ', SQLSTATE, message, detail, hint);
END
$$;
CREATE TABLE calls (call text);
SQL
my @calls_of_both;
for my $function (split /\n/, query(<<'SQL'))
SELECT p.proname || '|' || string_agg(format_type(t.type, NULL), '|' ORDER BY t.n)
FROM pg_proc p, unnest(p.proargtypes) WITH ORDINALITY t (type, n)
WHERE p.pronamespace = 'ext'::regnamespace AND p.provolatile = 'i'
	AND p.proname IN (SELECT proname FROM pg_proc WHERE pronamespace = 'ids'::regnamespace) GROUP BY p.oid ORDER BY 1
SQL
{
	my ($name, @types) = split /\|/, $function;
	my @usual = map { boundaries($_)->[0] } @types;
	my $has_epoch = $name =~ /^id_(timestamp|parts|from_parts|lower_bound)$/;
	@usual[ -2, -1 ] = (13, 10) if $has_epoch || $name eq 'id_shard';
	$usual[-3] = '2011-08-24 21:07:01.721+00' if $has_epoch;
	for my $place (0 .. $#types)
	{
		for my $value (@{ boundaries($types[$place]) })
		{
			for my $layout ($has_epoch && $place < @types - 2 ? ([ 13, 10 ], [ 10, 12 ], [ 4, 8 ], [ 0, 1 ], [ 0, 0 ]) : undef)
			{
				my @values = @usual;
				@values[ -2, -1 ] = @$layout if $layout;
				$values[$place] = $value;
				push @calls_of_both, "$name(" . join(', ', map {
					defined $values[$_] ? "'" . $values[$_] =~ s/'/''/gr . "'::$types[$_]" : "NULL::$types[$_]" } 0 .. $#types) . ')';
			}
		}
	}
}
my $values = join ', ', map { '($call$' . $_ . '$call$)' } @calls_of_both;
utf8::encode($values);
query("INSERT INTO calls VALUES $values");
cmp_ok(query('SELECT count(*) FROM calls'), '>', 1500, 'many calls: ' . @calls_of_both);
is(query(<<'SQL'), '', 'the extension and the portable functions say the same');
SELECT call, said('ext.' || call) AS extension, said('ids.' || call) AS portable FROM calls
WHERE said('ext.' || call) IS DISTINCT FROM said('ids.' || call) LIMIT 20
SQL

$node->stop;
done_testing();
