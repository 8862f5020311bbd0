# id_partition_commands and maintain_id_partitions run no planted code: in search_path, in the functions' schema, in
# names of tables, and in the expressions of a table that belongs to another role.
use Portable;
use ShardidTest;

my $node = new_portable_node('planted');
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE mallory LOGIN;
CREATE ROLE "Planner" LOGIN;
CREATE DATABASE of_extension;
SQL

# mallory owns the extensions' schemas, and plants functions there that differ in an argument's type from those that are called.
$node->safe_psql('of_extension', <<'SQL');
CREATE SCHEMA ids AUTHORIZATION mallory;
CREATE EXTENSION shardid SCHEMA ids;
CREATE SCHEMA shardid_admin AUTHORIZATION mallory;
CREATE EXTENSION shardid_admin;
GRANT USAGE ON SCHEMA ids, shardid_admin TO PUBLIC;
SQL
for my $database ('of_extension', 'portable')
{
	my $owner = $database eq 'portable' ? 'ids_owner' : 'mallory';
	my $as = sub {
		my ($role, $sql) = @_;
		return join '', map { $_ // '' } ($node->psql($database, $sql, extra_params => [ '-U', $role ]))[ 1, 2 ];
	};
	is($as->($owner, <<'SQL'), '', "$database: planted") if $database ne 'portable';
DO $$
DECLARE
	made text;
BEGIN
	FOREACH made IN ARRAY ARRAY[
		'id_lower_bound(timestamptz, timestamptz, bigint, int) RETURNS bigint', 'id_timestamp(numeric, timestamptz, int, int) RETURNS timestamptz',
		'id_lower_bound(timestamp, timestamptz, int, int) RETURNS bigint', 'uuid_v6_from(timestamptz, int, macaddr, int, int DEFAULT 0) RETURNS uuid',
		'uuid_v6_from(timestamptz, int, macaddr) RETURNS uuid', 'uuid_v6_timestamp(varchar) RETURNS timestamptz'] LOOP
		EXECUTE format('CREATE FUNCTION ids.%s LANGUAGE plpgsql AS %L', made, 'BEGIN RAISE ''planted''; END');
	END LOOP;
	-- Another type of one argument.
	FOR made IN
		SELECT format('%I(%s)', p.proname, (SELECT string_agg(CASE n WHEN place THEN another ELSE type::regtype::text END, ', ' ORDER BY n)
			FROM unnest(p.proargtypes) WITH ORDINALITY u (type, n)))
		FROM pg_proc p, generate_series(1, p.pronargs) place,
			unnest(ARRAY['anyelement', 'name', 'varchar', 'timestamp', 'date', 'bigint', 'smallint', 'regclass', 'oid', 'jsonb']) another
		WHERE another::regtype <> p.proargtypes[place - 1] AND p.pronamespace = 'shardid_admin'::regnamespace AND p.proname !~ '^(maintain_)?id_.*s$'
	LOOP
		EXECUTE format('CREATE FUNCTION shardid_admin.%s RETURNS text LANGUAGE plpgsql AS %L', made, 'BEGIN RAISE ''planted''; END');
	END LOOP;
END
$$;
SQL
	# In a schema that comes before pg_catalog.
	is($as->('mallory', 'SELECT 1') . ($node->safe_psql($database, <<'SQL'), '')[0], 1, "$database: in search_path");
CREATE SCHEMA planted AUTHORIZATION mallory;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
CREATE SCHEMA planner AUTHORIZATION "Planner";
DO $$ BEGIN EXECUTE pg_catalog.format('GRANT CREATE ON DATABASE %I TO "Planner"', pg_catalog.current_database()); END $$;
SET ROLE mallory;
DO $$
DECLARE
	made text;
BEGIN
	FOREACH made IN ARRAY ARRAY['set_config(text, text, boolean)', 'format(text, text)', 'format(text, regclass)', 'format(text, VARIADIC "any")', 'to_regclass(text)',
		'concat_ws(text, text, text)', 'clock_timestamp()', 'count(bigint)'] LOOP
		BEGIN
			EXECUTE format('CREATE FUNCTION planted.%s RETURNS text LANGUAGE plpgsql AS %L', made, 'BEGIN RAISE ''planted''; END');
		EXCEPTION WHEN OTHERS THEN
			RAISE DEBUG '%', SQLERRM;
		END;
	END LOOP;
	FOREACH made IN ARRAY ARRAY['text', 'regclass', 'regprocedure', 'oid', 'name', 'timestamptz', 'numeric'] LOOP
		EXECUTE format('CREATE DOMAIN planted.%s AS pg_catalog.%1$s CHECK (VALUE IS NULL)', made);
	END LOOP;
	FOREACH made IN ARRAY ARRAY['int4, int4', 'text, text', 'int8, int8', 'int8, int4', 'oid, oid', 'name, name', 'bool, bool', 'name, text', 'regclass, oid'] LOOP
		EXECUTE format('CREATE FUNCTION planted.wrong(pg_catalog.%s, pg_catalog.%s) RETURNS boolean LANGUAGE plpgsql AS %L',
			split_part(made, ', ', 1), split_part(made, ', ', 2), 'BEGIN RAISE ''planted''; END');
		EXECUTE format('CREATE OPERATOR planted.= (FUNCTION = planted.wrong, LEFTARG = pg_catalog.%s, RIGHTARG = pg_catalog.%s)', split_part(made, ', ', 1), split_part(made, ', ', 2));
		EXECUTE format('CREATE OPERATOR planted.> (FUNCTION = planted.wrong, LEFTARG = pg_catalog.%s, RIGHTARG = pg_catalog.%s)', split_part(made, ', ', 1), split_part(made, ', ', 2));
		EXECUTE format('CREATE OPERATOR planted.<> (FUNCTION = planted.wrong, LEFTARG = pg_catalog.%s, RIGHTARG = pg_catalog.%s)', split_part(made, ', ', 1), split_part(made, ', ', 2));
	END LOOP;
	CREATE TABLE planted.pg_class (oid oid);
	CREATE TABLE planted.pg_settings (name text, setting text);
END
$$;
SQL
	my $path = 'SET search_path = planted, pg_catalog';
	like($as->('Planner', "$path; SELECT 1 = 1"), qr/planted/, "$database: a search_path with planted operators is one");
	is($as->('Planner', <<"SQL"), "4\n1|1\n6|3652231968831045632", "$database: which nothing looks at");
CREATE TABLE planner.events (id bigint PRIMARY KEY DEFAULT ids.next_id(5)) PARTITION BY RANGE (id);
CREATE TABLE planner.serials (id bigserial);
$path;
SELECT pg_catalog.count(c) FROM shardid_admin.id_partition_commands('planner.events', '1 month') c;
SELECT (SELECT pg_catalog.count(c) FROM shardid_admin.id_migration_commands('planner', back => true) c),
	(SELECT pg_catalog.count(c) FROM shardid_admin.id_migration_commands('planner') c WHERE c OPERATOR(pg_catalog.~) 'SET DEFAULT');
CALL shardid_admin.maintain_id_partitions('planner.events', '1 month', 5, keep => '1 year');
SELECT pg_catalog.count(*), ids.id_lower_bound('2025-06-11 00:00+00') FROM pg_catalog.pg_inherits WHERE inhparent OPERATOR(pg_catalog.=) 'planner.events'::pg_catalog.regclass::pg_catalog.oid;
SQL
	is($as->('Planner', "SELECT ids.uuid_v6_lower_bound('2025-01-01 00:00+00'), ids.uuid_v6_timestamp('1efc7d35-7fd0-6000-8000-000000000000'::text) = '2025-01-01 00:00+00'"),
		'1efc7d35-7fd0-6000-8000-000000000000|t', "$database: nor do the UUIDs'");

	# An expression of an index runs as the role that plans or attaches: so only the owner may call these functions.
	is($as->('mallory', <<'SQL'), '', "$database: a table with a hostile index");
CREATE TABLE planted.log (who text);
GRANT ALL ON planted.log TO PUBLIC;
CREATE FUNCTION planted.leave() RETURNS void LANGUAGE plpgsql VOLATILE AS $$ BEGIN INSERT INTO planted.log VALUES (current_user); END $$;
CREATE FUNCTION planted.one() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM planted.leave(); RETURN 1; END $$;
CREATE TABLE planted.events (id bigint PRIMARY KEY, n int DEFAULT planted.one() CHECK (planted.one() = 1)) PARTITION BY RANGE (id);
CREATE INDEX ON planted.events ((n + planted.one())) WHERE planted.one() = 1;
CREATE TABLE planted.rest PARTITION OF planted.events DEFAULT;
GRANT ALL ON planted.events TO PUBLIC;
SQL
	my $superuser = getpwuid $<;
	for my $role ($superuser, 'Planner')
	{
		like($as->($role, $_), qr/must be owner of table planted\.events/, "$database: $role: $_")
		  for q{SELECT shardid_admin.id_partition_commands('planted.events', '1 month')}, q{CALL shardid_admin.maintain_id_partitions('planted.events', '1 month', keep => '1 day')};
	}
	is($node->safe_psql($database, q{SELECT count(*) FROM planted.log WHERE who <> 'mallory'}), 0, "$database: nothing of hers has run");
	is($as->('mallory', q{CALL shardid_admin.maintain_id_partitions('planted.events', '1 month')}), '', "$database: but for herself");
	cmp_ok($node->safe_psql($database, q{SELECT count(*) FROM planted.log}), '>', 0, "$database: as it does");

	# DETACH reads the partition and the tables that reference it, as the role that runs it.
	$node->safe_psql($database, <<'SQL');
CREATE SCHEMA shop;
GRANT USAGE, CREATE ON SCHEMA shop TO mallory;
CREATE TABLE shop.events (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('shop.events', '1 month', since => now() - interval '4 months');
CREATE TABLE shop.parted (ev bigint REFERENCES shop.events) PARTITION BY LIST (ev);
GRANT REFERENCES ON shop.events TO mallory;
SQL
	my $parts = q{FROM pg_inherits WHERE inhparent = 'shop.events'::regclass};
	my $oldest = $node->safe_psql($database, "SELECT min(inhrelid::regclass::text) $parts");
	my $index = 'CREATE INDEX ON %s (%s) WHERE planted.one() = 1';
	my $refused = sub {
		my ($message, $name) = @_;
		like($as->($superuser, $_), qr/ERROR:  must be owner of table $message\nDETAIL:  Its owner is mallory, and that of shop\.events is \S+\.\nHINT:  If no /, "$database: $name: $_")
		  for q{SELECT shardid_admin.id_partition_commands('shop.events', '1 month', keep => '1 month')}, q{CALL shardid_admin.maintain_id_partitions('shop.events', '1 month', keep => '1 month')};
		is($node->safe_psql($database, q{SELECT count(*) FROM planted.log WHERE who <> 'mallory'}), 0, "$database: $name: nothing of hers has run");
	};
	is($as->('mallory', "CREATE TABLE planted.refers (ev bigint REFERENCES shop.events);" . sprintf $index, 'planted.refers', 'ev'), '', "$database: a hostile table refers to partitions");
	$refused->('planted\.refers, which references shop\.events', 'one that refers');
	is($as->($superuser, q{CALL shardid_admin.maintain_id_partitions('shop.events', '1 month', 5, since => now() - interval '6 months')}), '', "$database: but new ones are created");
	is($node->safe_psql($database, "SELECT (SELECT count(*) $parts), (SELECT count(*) FROM planted.log WHERE who <> 'mallory')"), '12|0', "$database: which runs nothing of hers");
	$node->safe_psql($database, 'DROP TABLE planted.refers; CREATE TABLE shop.heir PARTITION OF shop.parted DEFAULT; ALTER TABLE shop.heir OWNER TO mallory');
	is($as->('mallory', sprintf $index, 'shop.heir', 'ev'), '', "$database: so does a hostile partition");
	$refused->('shop\.heir, which references shop\.events', 'a part of one that refers');
	$node->safe_psql($database, "DROP TABLE shop.heir; ALTER TABLE $oldest OWNER TO mallory");
	is($as->('mallory', sprintf $index, $oldest, 'id'), '', "$database: one that is dropped is hostile");
	$refused->(quotemeta($oldest) . ', which is a partition of shop\.events', 'one that is dropped');
	$node->safe_psql($database, "DROP TABLE shop.parted, $oldest; CREATE TABLE shop.default_one PARTITION OF shop.events DEFAULT");
	$node->safe_psql($database, q{INSERT INTO shop.events SELECT ids.id_lower_bound(now() + interval '9 months'); ALTER TABLE shop.events OWNER TO "Planner"; ALTER TABLE shop.default_one OWNER TO "Planner"; GRANT USAGE, CREATE ON SCHEMA shop TO "Planner"});
	like($as->('Planner', q{SELECT shardid_admin.id_partition_commands('shop.events', '1 month', 11)}), qr/WARNING:  default partition shop\.default_one has rows.*\nDETAIL.*\nHINT:  If no function of another role/, "$database: no commands that would run it");

	# Under a lock, with which no foreign key is added, the procedure looks again.
	$node->safe_psql($database, <<'SQL');
CREATE TABLE shop.raced (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('shop.raced', '1 month', since => now() - interval '4 months');
CREATE FUNCTION refer() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	IF to_regclass('shop.late') IS NULL THEN
		CREATE TABLE shop.late (ev bigint REFERENCES shop.raced);
		ALTER TABLE shop.late OWNER TO mallory;
	END IF;
END $$;
CREATE EVENT TRIGGER refer ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION refer();
SQL
	like($as->($superuser, q{CALL shardid_admin.maintain_id_partitions('shop.raced', '1 month', 4, keep => '1 month')}),
		qr/WARNING:  could not maintain a partition of shop\.raced: must be owner of table shop\.late.*ERROR:  partitions of shop\.raced are not maintained/s, "$database: a table that refers since the call began");
	is($node->safe_psql($database, q{DROP EVENT TRIGGER refer; SELECT count(*) FROM pg_inherits WHERE inhparent = 'shop.raced'::regclass}), 9, "$database: is not read");
	$node->safe_psql($database, 'DROP TABLE shop.late');
	unlike($as->($superuser, q{CALL shardid_admin.maintain_id_partitions('shop.raced', '1 month', 4, keep => '1 month')}), qr/WARNING|ERROR/, "$database: without it");
	cmp_ok($node->safe_psql($database, q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'shop.raced'::regclass}), '<', 8, "$database: old ones are dropped");

	# Each of the procedure's transactions looks at the owner: here the first one ends with another.
	$node->safe_psql($database, <<'SQL');
CREATE TABLE ids.given_away (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE FUNCTION give_away() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE ids.given_away OWNER TO mallory; END $$;
CREATE EVENT TRIGGER give_away ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION give_away();
SQL
	like($as->($superuser, q{CALL shardid_admin.maintain_id_partitions('ids.given_away', '1 month')}), qr/must be owner of table ids\.given_away/, "$database: an owner that changes meanwhile");
	is($node->safe_psql($database, q{DROP EVENT TRIGGER give_away; SELECT count(*) FROM pg_inherits WHERE inhparent = 'ids.given_away'::regclass}),
		1, "$database: gets no partition more");
}

# The schema of shardid: a name that is a format, a mark of the SQL-only version that is none, and the one of shardid_admin.
$node->safe_psql('postgres', $_) for 'CREATE DATABASE of_percent', 'CREATE DATABASE of_one_schema';
is($node->safe_psql('of_percent', <<'SQL'), qq{GRANT USAGE ON SEQUENCE "100%".shardid_seq TO "Planner"|DO 'BEGIN IF "100%".next_id() IS NULL}, 'its name is no format, and a planted mark none');
CREATE SCHEMA "100%";
CREATE EXTENSION shardid SCHEMA "100%";
CREATE EXTENSION shardid_admin;
GRANT CREATE ON SCHEMA "100%" TO mallory;
CREATE TABLE public.t (id bigserial);
GRANT INSERT ON public.t TO "Planner";
SET ROLE mallory;
CREATE SEQUENCE "100%".shardid_mark_0;
RESET ROLE;
SELECT string_agg(split_part(c, ' THEN', 1), '|') FROM shardid_admin.id_migration_commands('public') c WHERE c ~ '^(DO|GRANT)';
SQL
is($node->safe_psql('of_one_schema', <<'SQL'), 4, 'one schema for both');
CREATE SCHEMA shardid_admin;
CREATE EXTENSION shardid SCHEMA shardid_admin;
CREATE EXTENSION shardid_admin;
CREATE TABLE public.t (id bigint PRIMARY KEY DEFAULT shardid_admin.next_id()) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('public.t', '1 month');
SELECT count(*) FROM pg_inherits WHERE inhparent = 'public.t'::regclass;
SQL

# A member of a superuser that does not inherit its rights could take them, too.
my $superuser = getpwuid $<;
$node->safe_psql('of_extension', qq{CREATE ROLE dba LOGIN NOINHERIT IN ROLE "Planner", "$superuser"});
for my $sql (q{CALL shardid_admin.maintain_id_partitions('planner.events', '1 month')}, q{SELECT shardid_admin.id_migration_commands('planner')})
{
	my (undef, undef, $error) = $node->psql('of_extension', qq{SET ROLE "Planner"; $sql}, extra_params => [ '-U', 'dba' ]);
	like($error, qr/ERROR:  a superuser, or a member of one, cannot run this as another role/, "refused to one: $sql");
}
is(join('', map { $_ // '' } ($node->psql('of_extension', qq{SET ROLE "$superuser"; SELECT count(*) FROM shardid_admin.id_migration_commands('ids', back => true)}, extra_params => [ '-U', 'dba' ]))[ 1, 2 ]), 1, 'but not as the superuser');

$node->stop;
done_testing();
