# Plants: objects that a hostile role, mallory, creates where a script of an extension might find them instead of the
# right ones. Each is a label and mallory's statements. If planted code runs as another role, it raises a warning, which
# no rollback takes back, and makes mallory superuser.
package Plants;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(all_plants called_plants shadow_catalog);

# Names that no script uses, and that differ, so that many plants can exist at once.
my $helpers = 0;
sub helper { return 'planted_' . ++$helpers }

sub body
{
	my ($label, $result) = @_;
	return <<"SQL";
LANGUAGE plpgsql AS \$body\$
BEGIN
    IF current_user <> 'mallory' THEN
        RAISE WARNING 'planted $label ran as %', current_user;
        ALTER ROLE mallory SUPERUSER;
    END IF;
    RETURN$result;
END
\$body\$
SQL
}

# Functions that a call could resolve to instead of the right one: their arguments match as well, or better, or by
# defaults.
my @signatures = (
	'', 'text', 'anyelement', 'text, text', 'varchar, varchar', 'regclass, text', 'oid, text', 'anyelement, text',
	'anyelement, anyelement', 'VARIADIC text[]', 'VARIADIC anyarray', 'text, VARIADIC text[]', 'text, text, int DEFAULT 0',
	'int DEFAULT 0', 'VARIADIC int[] DEFAULT NULL', q(text DEFAULT '', text DEFAULT '', text DEFAULT ''));

sub function_plants
{
	my ($schema, $name, @of_signatures) = @_;
	my @plants;
	for my $signature (@of_signatures ? @of_signatures : @signatures)
	{
		my $label = "function $schema.$name($signature)" =~ tr/'/"/r;
		push @plants, [ $label, "CREATE FUNCTION $schema.\"$name\"($signature) RETURNS void " . body($label, '') ];
	}
	return @plants;
}

# Aggregates and other routines that are called like a function.
sub routine_plants
{
	my ($schema, $name) = @_;
	my $full = "$schema.\"$name\"(text, text)";
	my ($procedure, $aggregate) = ("procedure $schema.$name", "aggregate $schema.$name");
	my $step = "$schema." . helper();
	return (
		[ $procedure, "CREATE PROCEDURE $full " . body($procedure, '') ],
		[ $aggregate, "CREATE FUNCTION $step(int, text, text) RETURNS int " . body($aggregate, ' 1') . ";
			CREATE AGGREGATE $full (SFUNC = $step, STYPE = int, INITCOND = 0)" ]);
}

sub domain_plants
{
	my ($schema, $name) = @_;
	my ($label, $check) = ("domain $schema.$name", "$schema." . helper());
	return [ $label, "CREATE FUNCTION $check(text) RETURNS boolean " . body($label, ' true') . ";
			CREATE DOMAIN $schema.\"$name\" AS text CHECK ($check(VALUE))" ];
}

sub type_plants
{
	my ($schema, $name) = @_;
	my $full = "$schema.\"$name\"";
	my ($label, $cast) = ("type $schema.$name", "$schema." . helper());
	return [ $label, "CREATE TYPE $full AS (a int);
			CREATE FUNCTION $cast($full) RETURNS text " . body("cast from $label", q( '')) . ";
			CREATE FUNCTION $cast(text) RETURNS $full " . body("cast to $label", ' NULL') . ";
			CREATE CAST ($full AS text) WITH FUNCTION $cast($full) AS IMPLICIT;
			CREATE CAST (text AS $full) WITH FUNCTION $cast(text) AS IMPLICIT" ];
}

my @operands = ([ 'text', 'text' ], [ 'int', 'int' ], [ 'int', 'text' ], [ 'bigint', 'bigint' ], [ 'anyelement', 'anyelement' ], [ 'regclass', 'text' ]);

sub operator_plants
{
	my ($schema, $name) = @_;
	my @plants;
	for my $operands (@operands)
	{
		my ($left, $right) = @$operands;
		my ($label, $operate) = ("operator $schema.$name ($left, $right)", "$schema." . helper());
		push @plants, [ $label, "CREATE FUNCTION $operate($left, $right) RETURNS boolean " . body($label, ' true') . ";
			CREATE OPERATOR $schema.$name (FUNCTION = $operate, LEFTARG = $left, RIGHTARG = $right)" ];
	}
	return @plants;
}

sub relation_plants
{
	my ($schema, $name) = @_;
	my $full = "$schema.\"$name\"";
	return (
		[ "sequence $schema.$name", "CREATE SEQUENCE $full" ],
		[ "table $schema.$name", "CREATE TABLE $full (last_value bigint, log_cnt bigint, is_called boolean)" ],
		[ "view $schema.$name", "CREATE VIEW $full AS SELECT 1 AS last_value" ]);
}

# The names that a script uses, by the kind of object that they could name.
sub names_of
{
	my ($script) = @_;
	$script =~ s/^\\echo.*|--.*//mg;
	# What is between $$ is not run when it is created; contrib/admin/t/rights.pl runs it.
	$script =~ s/ AS \$\$.*?\$\$;/ AS '';/gs;
	$script =~ s/COMMENT ON[^;']* IS\s*'(?:[^']|'')*'//g;
	my %relations = map { $_ => 1 } $script =~ /\b(\w+_seq)\b/g;
	$script =~ s/'(?:[^']|'')*'/''/g;
	my %words = map { $_ => 1 } $script =~ /\b[a-z_]\w*\b/g;
	my %operators = map { $_ => 1 } grep { !/^(=>|::|:=|@|\*)$/ } $script =~ /[-+*\/<>=~!@#%^&|`?:]+/g;
	my %qualified = map { $_ => 1 } $script =~ /\bpg_catalog\.(\w+)/g;
	my %made = map { $_ => 1 } $script =~ /\bFUNCTION\s+(?:\w+\.)?(\w+)\s*\(/g;
	$script =~ s/\bFUNCTION\s+[\w.]+\s*\(/(/g;
	my %called = map { $_ => 1 } $script =~ /\b([a-z_]\w*)\s*\(/g, keys %qualified;
	delete @made{ keys %called };
	return (
		called => [ sort keys %called ], made => [ sort keys %made ], types => [ sort keys %qualified ], words => [ sort keys %words ],
		operators => [ sort keys %operators ], relations => [ sort keys %relations ]);
}

# Plants a function for every name that a script calls.
sub called_plants
{
	my ($schema, $script) = @_;
	my %names = names_of($script);
	return map { function_plants($schema, $_), routine_plants($schema, $_) } @{ $names{called} };
}

# Plants for every name of a script. Functions that it only creates, and those of its types, which it calls without a
# name, have fewer signatures.
sub all_plants
{
	my ($schema, $script, @behind) = @_;
	my %names = names_of($script);
	my @few = ('text, text', 'anyelement', 'VARIADIC anyarray', q(text DEFAULT '', text DEFAULT ''));
	my %fewer = map { $_ => 1 } @{ $names{made} }, @behind;
	delete @fewer{ @{ $names{called} } };
	return (
		called_plants($schema, $script),
		(map { function_plants($schema, $_, @few) } sort keys %fewer),
		(map { domain_plants($schema, $_) } @{ $names{words} }),
		(map { type_plants($schema, $_) } @{ $names{types} }),
		(map { operator_plants($schema, $_) } @{ $names{operators} }, qw(= <> || ~~ +)),
		(map { relation_plants($schema, $_) } @{ $names{relations} }));
}

# For a schema of mallory's that a caller's search_path has before pg_catalog: functions, operators and types exactly as those of
# pg_catalog whose names a script has, also in the bodies of its functions. Each raises an error.
sub shadow_catalog
{
	my ($schema, $script) = @_;
	my $list = sub { my %names = map { $_ => 1 } @_; return join ', ', map { "'$_'" } sort keys %names };
	my ($words, $operators) = ($list->($script =~ /\b[a-z_]\w*\b/g), $list->($script =~ /[-+*\/<>=~!#%^&|]+/g));
	return <<"SQL";
DO \$\$
DECLARE
	made text;
	body CONSTANT text := 'LANGUAGE plpgsql AS ''BEGIN RAISE ''''planted''''; END''';
BEGIN
	FOR made IN
		-- PL/pgSQL does not have all pseudo-types: "any", which format has, is replaced.
		SELECT DISTINCT format('CREATE FUNCTION $schema.%I(%s) RETURNS %s %s', p.proname,
			replace(pg_get_function_identity_arguments(p.oid), 'VARIADIC "any"', any_type), format_type(p.prorettype, NULL), body)
		FROM pg_proc p, unnest(ARRAY['text', 'name', 'regclass', 'int', 'bigint']) any_type
		WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.proname IN ($words)
		UNION ALL
		SELECT format('CREATE FUNCTION $schema.planted(%s, %s) RETURNS boolean %s', l, r, body)
			|| string_agg(format('; CREATE OPERATOR $schema.%s (FUNCTION = $schema.planted, LEFTARG = %s, RIGHTARG = %s)', o.oprname, l, r), '')
		FROM pg_operator o, format_type(o.oprleft, NULL) l, format_type(o.oprright, NULL) r
		WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0 AND o.oprname IN ($operators) GROUP BY l, r
		UNION ALL
		SELECT format('CREATE DOMAIN $schema.%I AS pg_catalog.%1\$I CHECK (VALUE IS NULL)', t.typname) FROM pg_type t
		WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typname IN ($words)
	LOOP
		BEGIN
			EXECUTE made;
		EXCEPTION WHEN invalid_function_definition OR feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END
\$\$;
CREATE TABLE $schema.pg_class (oid oid);
CREATE TABLE $schema.pg_settings (name text, setting text);
SQL
}

1;
