# The extension and contrib/portable/shardid.sql return the same results and errors, in the same words.
use Boundaries;
use Portable;
use ShardidTest;

my $node = new_portable_node('portable', '', files => ['uuids_and_text']);
sub query { return $node->safe_psql('portable', $_[0]) }

# Calls of all functions that both have: one argument has its boundaries, the others usual values.
$node->safe_psql('portable', 'CREATE SCHEMA ext; CREATE EXTENSION shardid SCHEMA ext');
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
