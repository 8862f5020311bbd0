# id_partition_commands, maintain_id_partitions and id_migration_commands run no planted code: in search_path, in the functions'
# schema, in names of tables, and in the expressions of a table that belongs to another role.
use Plants;
use Portable;
use ShardidTest;

my $node = new_portable_node('planted', '', files => [ qw(uuids_and_text admin) ]);
my $superuser = getpwuid $<;
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE mallory LOGIN;
CREATE ROLE "Planner" LOGIN;
CREATE DATABASE of_extension;
SQL

# In a schema that comes before pg_catalog.
my $script = join '', map { slurp_file($_) } 'contrib/admin/shardid_admin--1.0.sql', glob 'contrib/portable/*.sql';
my $path = 'SET search_path = planted, pg_catalog';
sub plant
{
	my ($database) = @_;
	$node->safe_psql($database, <<"SQL" . shadow_catalog('planted', $script));
CREATE SCHEMA planted AUTHORIZATION mallory;
CREATE SCHEMA planner AUTHORIZATION "Planner";
GRANT USAGE ON SCHEMA planted TO PUBLIC;
GRANT CREATE ON DATABASE $database TO "Planner";
SET ROLE mallory;
SQL
	like(as_role($database, 'Planner', "$path; SELECT 1 = 1"), qr/planted/, "$database: a search_path with planted operators is one");
	my ($moving) = as_role($database, 'Planner', <<'SQL') =~ /these commands:\n(BEGIN;.*COMMIT;)/s;
CREATE TABLE planner.moved (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE planner.rest PARTITION OF planner.moved DEFAULT;
INSERT INTO planner.rest SELECT ids.id_lower_bound(now());
SELECT shardid_admin.id_partition_commands('planner.moved', '1 month', 0);
SQL
	is(as_role($database, 'Planner', "$path; $moving"), '', "$database: nor do the commands that move rows");
	return is(as_role($database, 'Planner', <<"SQL"), "4\n1|1\n6|3652231968831045632", "$database: which nothing looks at");
CREATE TABLE planner.events (id bigint PRIMARY KEY DEFAULT ids.next_id(5)) PARTITION BY RANGE (id);
CREATE TABLE planner.serials (id bigserial);
$path;
SELECT pg_catalog.count(c) FROM shardid_admin.id_partition_commands('planner.events', '1 month') c;
SELECT (SELECT pg_catalog.count(c) FROM shardid_admin.id_migration_commands('planner', back => true) c),
	(SELECT pg_catalog.count(c) FROM shardid_admin.id_migration_commands('planner') c WHERE c OPERATOR(pg_catalog.~) 'SET DEFAULT');
CALL shardid_admin.maintain_id_partitions('planner.events', '1 month', 5, keep => '1 year');
SELECT pg_catalog.count(*), ids.id_lower_bound('2025-06-11 00:00+00') FROM pg_catalog.pg_inherits WHERE inhparent OPERATOR(pg_catalog.=) 'planner.events'::pg_catalog.regclass::pg_catalog.oid;
SQL
}

sub as_role
{
	my ($database, $role, $sql) = @_;
	return join '', map { $_ // '' } ($node->psql($database, $sql, extra_params => [ '-U', $role ]))[ 1, 2 ];
}

plant('portable');
# What a caller of the other functions of the SQL-only version has in its path. A session's first id is generated in another way
# than the next ones.
my @calls = (
	q(ids.next_id(5, 'ids.g')), q((SELECT pg_catalog.count(*) FROM ids.next_ids(5, 3000, 'ids.g'))), q(ids.raise_generator('ids.g', 5)),
	'ids.id_timestamp(5)', 'ids.id_shard(5)', 'ids.scatter_digits(123456)', 'ids.id_to_text(5)', q(ids.id_from_text('0000000000005')),
	q(ids.uuid_v1_timestamp('c232ab00-9414-11ec-b3c8-9f6bdeced846')), q(ids.uuid_v6_lower_bound('2025-01-01 00:00+00')),
	q(ids.uuid_v6_timestamp('1efc7d35-7fd0-6000-8000-000000000000'::pg_catalog.text)));
$node->safe_psql('portable', 'CREATE SEQUENCE ids.g');
is($node->safe_psql('portable', "$path; SELECT " . join ', ', map { "($_) IS NULL" } (@calls) x 2, q((SELECT pg_catalog.count(id) FROM (SELECT ids.next_id(5, 'ids.g') FROM pg_catalog.generate_series(1, 2000)) s (id)))),
	join('|', ('f') x (2 * @calls + 1)), 'portable: nor do the functions of the SQL-only version');

# mallory owns the extensions' schemas, and plants functions there that differ in an argument's type from those that are called.
$node->safe_psql('of_extension', <<'SQL');
CREATE SCHEMA ids AUTHORIZATION mallory;
CREATE EXTENSION shardid SCHEMA ids;
CREATE EXTENSION shardid_admin;
ALTER SCHEMA shardid_admin OWNER TO mallory;
GRANT USAGE ON SCHEMA ids TO PUBLIC;
SET ROLE mallory;
DO $$
DECLARE
	made text;
BEGIN
	FOR made IN
		SELECT format('%s.%I(%s) RETURNS text', p.pronamespace::regnamespace, p.proname,
			(SELECT string_agg(CASE n WHEN place THEN another ELSE type::regtype::text END, ', ' ORDER BY n)
			FROM unnest(p.proargtypes) WITH ORDINALITY u (type, n)))
		FROM pg_proc p, generate_series(1, p.pronargs) place,
			unnest(ARRAY['anyelement', 'name', 'varchar', 'timestamp', 'date', 'bigint', 'smallint', 'regclass', 'oid', 'jsonb']) another
		WHERE another::regtype <> p.proargtypes[place - 1] AND (p.pronamespace = 'shardid_admin'::regnamespace AND p.proname !~ '^(maintain_)?id_.*s$'
			OR p.oid IN ('ids.id_lower_bound'::regproc, 'ids.id_timestamp'::regproc))
	LOOP
		EXECUTE format('CREATE FUNCTION %s LANGUAGE plpgsql AS %L', made, 'BEGIN RAISE ''planted''; END');
	END LOOP;
END
$$;
SQL
plant('of_extension');

# An expression of an index runs as the role that plans or attaches: so only the owner may call these functions. They are those of
# the SQL-only version, too.
sub query { return $node->safe_psql('of_extension', $_[0]) }
sub as { return as_role('of_extension', @_) }
my $of_others = q{SELECT count(*) FROM planted.log WHERE who <> 'mallory'};
is(as('mallory', <<'SQL'), '', 'a table with a hostile index');
CREATE TABLE planted.log (who pg_catalog.text);
GRANT ALL ON planted.log TO PUBLIC;
CREATE FUNCTION planted.leave() RETURNS void LANGUAGE plpgsql VOLATILE AS $$ BEGIN INSERT INTO planted.log VALUES (current_user); END $$;
CREATE FUNCTION planted.one() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM planted.leave(); RETURN 1; END $$;
CREATE TABLE planted.events (id bigint PRIMARY KEY, n int DEFAULT planted.one() CHECK (planted.one() = 1)) PARTITION BY RANGE (id);
CREATE INDEX ON planted.events ((n + planted.one())) WHERE planted.one() = 1;
CREATE TABLE planted.rest PARTITION OF planted.events DEFAULT;
GRANT ALL ON planted.events TO PUBLIC;
SQL
for my $call (q{SELECT shardid_admin.id_partition_commands('planted.events', '1 month')}, q{CALL shardid_admin.maintain_id_partitions('planted.events', '1 month', keep => '1 day')})
{
	like(as($_, $call), qr/must be owner of table planted\.events/, "$_: $call") for $superuser, 'Planner';
}
is(query($of_others), 0, 'nothing of hers has run');
is(as('mallory', q{CALL shardid_admin.maintain_id_partitions('planted.events', '1 month')}), '', 'but for herself');
cmp_ok(query('SELECT count(*) FROM planted.log'), '>', 0, 'as it does');

# DETACH reads the partition and the tables that reference it, as the role that runs it.
query(<<'SQL');
CREATE SCHEMA shop;
GRANT USAGE, CREATE ON SCHEMA shop TO mallory, "Planner";
CREATE TABLE shop.events (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('shop.events', '1 month', since => now() - interval '4 months');
CREATE TABLE shop.parted (ev bigint REFERENCES shop.events) PARTITION BY LIST (ev);
GRANT REFERENCES ON shop.events TO mallory;
SQL
# A table of hers with the name of a missing partition: ATTACH would run its CHECK.
my $ahead = q{SELECT shardid_admin.id_partition_commands('shop.events', '1 month', 4)};
my ($missing) = query($ahead) =~ /CREATE TABLE (\S+)/;
is(as('mallory', "CREATE TABLE $missing (id bigint NOT NULL CHECK (planted.one() = 1))"), '', 'a hostile table has the name of a missing partition');
like(as($superuser, $ahead), qr/WARNING:  \Q$missing\E is not a partition of shop\.events\nDETAIL.*\nHINT:  Have it renamed: it belongs to mallory\.$/, 'no ATTACH of it');
query("DROP TABLE $missing");
my $parts = q{FROM pg_inherits WHERE inhparent = 'shop.events'::regclass};
my $oldest = query("SELECT min(inhrelid::regclass::text) $parts");
my $index = 'CREATE INDEX ON %s (%s) WHERE planted.one() = 1';
sub refused
{
	my ($message, $name) = @_;
	like(as($superuser, $_), qr/ERROR:  must be owner of table $message\nDETAIL:  Its owner is mallory, and that of shop\.events is \S+\.\nHINT:  If no /, "$name: $_")
	  for q{SELECT shardid_admin.id_partition_commands('shop.events', '1 month', keep => '1 month')}, q{CALL shardid_admin.maintain_id_partitions('shop.events', '1 month', keep => '1 month')};
	return is(query($of_others), 0, "$name: nothing of hers has run");
}
is(as('mallory', 'CREATE TABLE planted.refers (ev bigint REFERENCES shop.events);' . sprintf $index, 'planted.refers', 'ev'), '', 'a hostile table refers to partitions');
refused('planted\.refers, which references shop\.events', 'one that refers');
is(as($superuser, q{CALL shardid_admin.maintain_id_partitions('shop.events', '1 month', 5, since => now() - interval '6 months')}), '', 'but new ones are created');
is(query("SELECT (SELECT count(*) $parts), ($of_others)"), '12|0', 'which runs nothing of hers');
query('DROP TABLE planted.refers; CREATE TABLE shop.heir PARTITION OF shop.parted DEFAULT; ALTER TABLE shop.heir OWNER TO mallory');
is(as('mallory', sprintf $index, 'shop.heir', 'ev'), '', 'so does a hostile partition');
refused('shop\.heir, which references shop\.events', 'a part of one that refers');
query("DROP TABLE shop.heir; ALTER TABLE $oldest OWNER TO mallory");
is(as('mallory', sprintf $index, $oldest, 'id'), '', 'one that is dropped is hostile');
refused(quotemeta($oldest) . ', which is a partition of shop\.events', 'one that is dropped');
like(as($superuser, q{SELECT shardid_admin.id_partition_commands('shop.events', '1 week', keep => '1 month')}),
	qr/NOTICE:  partition \Q$oldest\E is older than keep.*\nDETAIL.*\nHINT:  If no function of another role/, 'no DETACH of one that stays');
query("DROP TABLE shop.parted, $oldest; CREATE TABLE shop.default_one PARTITION OF shop.events DEFAULT;"
	  . q{INSERT INTO shop.events SELECT ids.id_lower_bound(now() + interval '9 months'); ALTER TABLE shop.events OWNER TO "Planner"; ALTER TABLE shop.default_one OWNER TO "Planner"});
like(as('Planner', q{SELECT shardid_admin.id_partition_commands('shop.events', '1 month', 11)}), qr/WARNING:  default partition shop\.default_one has rows.*\nDETAIL.*\nHINT:  If no function of another role/, 'no commands that would run it');

# Under a lock, with which no foreign key is added, the procedure looks again; and each of its transactions looks at the owner.
query(<<'SQL');
CREATE TABLE shop.raced (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CALL shardid_admin.maintain_id_partitions('shop.raced', '1 month', since => now() - interval '4 months');
CREATE TABLE shop.given_away (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE FUNCTION meanwhile() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity ~ 'given_away_') THEN
		ALTER TABLE shop.given_away OWNER TO mallory;
	ELSIF to_regclass('shop.late') IS NULL THEN
		CREATE TABLE shop.late (ev bigint REFERENCES shop.raced);
		ALTER TABLE shop.late OWNER TO mallory;
	END IF;
END $$;
CREATE EVENT TRIGGER meanwhile ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION meanwhile();
SQL
my $raced = q{CALL shardid_admin.maintain_id_partitions('shop.raced', '1 month', 4, keep => '1 month')};
my $count = q{SELECT count(*) FROM pg_inherits WHERE inhparent = 'shop.raced'::regclass};
like(as($superuser, $raced), qr/WARNING:  could not maintain a partition of shop\.raced: must be owner of table shop\.late.*ERROR:  partitions of shop\.raced are not maintained/s, 'a table that refers since the call began');
is(query($count), 9, 'is not read');
like(as($superuser, q{CALL shardid_admin.maintain_id_partitions('shop.given_away', '1 month')}), qr/must be owner of table shop\.given_away/, 'an owner that changes meanwhile');
is(query(q{DROP EVENT TRIGGER meanwhile; DROP TABLE shop.late; SELECT count(*) FROM pg_inherits WHERE inhparent = 'shop.given_away'::regclass}), 1, 'gets no partition more');
unlike(as($superuser, $raced), qr/WARNING|ERROR/, 'without the table');
cmp_ok(query($count), '<', 8, 'old ones are dropped');

# A member of a superuser that does not inherit its rights could take them, too.
query(qq{CREATE ROLE dba LOGIN NOINHERIT IN ROLE "Planner", "$superuser"});
like(as('dba', qq{SET ROLE "Planner"; $_}), qr/ERROR:  a superuser, or a member of one, cannot run this as another role/, "refused to one: $_")
  for q{CALL shardid_admin.maintain_id_partitions('planner.events', '1 month')}, q{SELECT shardid_admin.id_migration_commands('planner')};
is(as('dba', qq{SET ROLE "$superuser"; SELECT count(*) FROM shardid_admin.id_migration_commands('ids', back => true)}), 1, 'but not as the superuser');

# The schema of shardid: a name that is a format, and a mark of the SQL-only version that is none.
$node->safe_psql('postgres', 'CREATE DATABASE of_percent');
is($node->safe_psql('of_percent', <<'SQL'), qq{GRANT USAGE ON SEQUENCE "100%".shardid_seq TO "Planner"|DO 'BEGIN IF "100%".next_id() IS NULL}, 'its name is no format, and a planted mark none');
CREATE SCHEMA "100%";
CREATE EXTENSION shardid SCHEMA "100%";
CREATE EXTENSION shardid_admin;
CREATE TABLE public.t (id bigserial);
GRANT INSERT ON public.t TO "Planner";
CREATE SEQUENCE "100%".shardid_mark_0;
ALTER SEQUENCE "100%".shardid_mark_0 OWNER TO mallory;
SELECT string_agg(split_part(c, ' THEN', 1), '|') FROM shardid_admin.id_migration_commands('public') c WHERE c ~ '^(DO|GRANT)';
SQL

$node->stop;
done_testing();
