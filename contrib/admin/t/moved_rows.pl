# Rows that are moved out of the default partition by the commands of the HINT of maintain_id_partitions fire no
# trigger, not of the table, of the default partition or of a part of it, also none that is newer than the HINT; and
# those of other sessions do. A subscriber gets both the DELETE and the INSERT of each row. Commands that fail leave all as it was.
use ShardidTest;

my $node = new_node('moved_rows', "timezone = 'UTC'\nautovacuum = off\n", allows_streaming => 'logical');
sub query { return $node->safe_psql('postgres', $_[0]) }
sub as_planner { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', 'planner' ]) }
query('CREATE ROLE planner LOGIN; CREATE SCHEMA planner AUTHORIZATION planner; CREATE EXTENSION shardid_admin; GRANT USAGE ON SCHEMA shardid_admin TO planner');

# All commands of a text, as psql reads them if one fails.
sub psql_of { return ($node->psql('postgres', $_[0], on_error_stop => 0, extra_params => [ '-U', 'planner' ]))[ 1, 2 ] }
as_planner(<<'SQL');
CREATE TABLE counted (id bigint PRIMARY KEY, next bigint REFERENCES counted ON DELETE CASCADE) PARTITION BY RANGE (id);
CREATE TABLE counted_rest PARTITION OF counted DEFAULT PARTITION BY HASH (id);
CREATE TABLE counted_rest_0 PARTITION OF counted_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE counted_rest_1 PARTITION OF counted_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE counter AS SELECT 0 AS rows, 0 AS fired;
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE counter SET rows = rows + CASE WHEN TG_LEVEL = 'STATEMENT' OR TG_NARGS > 0 OR TG_NAME = 'later' THEN 0
			WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END, fired = fired + 1;
	RETURN NULL;
END $$;
CREATE TRIGGER count_rows AFTER INSERT OR DELETE ON counted FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE CONSTRAINT TRIGGER later AFTER INSERT OR DELETE ON counted DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE TRIGGER "100% always" AFTER INSERT ON counted FOR EACH ROW EXECUTE FUNCTION count_rows('audit');
CREATE TRIGGER off AFTER INSERT ON counted FOR EACH ROW EXECUTE FUNCTION count_rows('audit');
CREATE TRIGGER of_statements AFTER INSERT OR DELETE ON counted EXECUTE FUNCTION count_rows();
ALTER TABLE counted ENABLE ALWAYS TRIGGER "100% always", DISABLE TRIGGER off;
CREATE TRIGGER of_rest AFTER DELETE ON counted_rest EXECUTE FUNCTION count_rows();
CREATE TRIGGER of_part BEFORE DELETE ON counted_rest_0 FOR EACH ROW EXECUTE FUNCTION count_rows();
ALTER TABLE counted_rest_0 ENABLE ALWAYS TRIGGER of_part;
ALTER TABLE counted_rest_1 DISABLE TRIGGER count_rows;
ALTER TABLE counted_rest_1 ENABLE TRIGGER count_rows;
ALTER TABLE counted_rest_1 DISABLE TRIGGER later;
INSERT INTO counted SELECT id, id FROM generate_series(1, 50) n, LATERAL (SELECT public.id_lower_bound(now()) + n) i (id);
UPDATE counter SET fired = 0;
CREATE TABLE of_part (event bigint REFERENCES counted_rest_0 ON DELETE CASCADE);
INSERT INTO of_part SELECT id FROM counted_rest_0;
SQL
my $triggers = q{SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled), ', '
		ORDER BY tgrelid::regclass::text COLLATE "C", tgname)
	FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'planner.counted_rest%' AND NOT tgisinternal AND tgname <> 'newer'};
my $triggers_before = query($triggers);
sub moving
{
	my ($commands) = join("\n", psql_of(q{CALL shardid_admin.maintain_id_partitions('counted', '1 month', 0)})) =~
	  /HINT:  Move them by these commands:\n(.*?COMMIT;)/s;
	return $commands;
}
my $state = q{SELECT (SELECT array_agg(c ORDER BY id) FROM planner.counted c),
	(SELECT array_agg(o ORDER BY event) FROM planner.of_part o),
	(SELECT string_agg(pg_get_constraintdef(oid), '; ' ORDER BY conrelid, conname) FROM pg_constraint
		WHERE contype = 'f' AND confrelid::regclass::text LIKE 'planner.counted%'),
	(SELECT count(*) FROM pg_class WHERE relname ~ '^counted_\d'), (SELECT c FROM planner.counter c), (} . $triggers . ')';
my $state_before = query($state);
like((psql_of(moving()))[1], qr/violates foreign key constraint "of_part_event_fkey"/, 
	'rows that are referenced where they are cannot be moved');
is(query($state), $state_before, 'which changes nothing, also in the rows that refer to them');
as_planner('DROP TABLE of_part');
my $moving = moving();
like($moving, qr/DELETE FROM planner\.counted_rest /, 'rows of the default partition are to be moved');
query(q{CREATE PUBLICATION of_counted FOR TABLE planner.counted WITH (publish_via_partition_root);
	SELECT pg_create_logical_replication_slot('counted', 'pgoutput')});
as_planner('CREATE TRIGGER newer AFTER DELETE ON counted_rest_1 FOR EACH ROW EXECUTE FUNCTION count_rows()');
$moving =~ s/^BEGIN;\n//;
my ($until_moved, $then) = $moving =~ /^(.*FROM moved)(.*)$/s;
my $reader = { in => "BEGIN; $until_moved;\n\\echo held\n", out => '' };
$reader->{run} = IPC::Run::start([ qw(psql -XAtq -U planner -d), $node->connstr('postgres') ],
	'<', \$reader->{in}, '>', \$reader->{out}, IPC::Run::timeout(180));
$reader->{run}->pump until $reader->{out} =~ /held/;
my $beside = (psql_of(q{SET lock_timeout = '100ms';
	INSERT INTO counted SELECT public.id_lower_bound(now() + '4 months'::interval)}))[1];
like($beside, qr/canceling statement due to lock timeout/, 'no other session inserts while triggers are off');
$reader->{in} .= substr($then, 1) . "\n\\q\n";
$reader->{run}->finish;
is(query('SELECT rows, fired FROM planner.counter'), '50|0', 'rows that move fire no trigger');
is(query($triggers), $triggers_before, 'all triggers are as before');
is(query(q{SELECT string_agg(concat_ws(' ', c.tgname, c.tgenabled), ', ' ORDER BY c.tgname) FROM pg_trigger c
	JOIN pg_trigger t ON t.oid = c.tgparentid WHERE NOT t.tgisinternal AND t.tgrelid = 'planner.counted'::regclass
		AND c.tgrelid = to_regclass(to_char(now(), '"planner.counted_"YYYYMM'))}),
	'100% always A, count_rows O, later O, off D', 'those of the partition are as those of the table');
is(query(q{SELECT string_agg(kind || ' ' || n, ', ' ORDER BY kind) FROM (SELECT chr(get_byte(data, 0)) AS kind, count(*) AS n
	FROM pg_logical_slot_get_binary_changes('counted', NULL, NULL, 'proto_version', '1',
		'publication_names', 'of_counted') GROUP BY 1) c WHERE kind IN ('I', 'D')}),
	'D 50, I 50', 'a subscriber gets each row again');
query(q{SELECT pg_drop_replication_slot('counted'); DROP PUBLICATION of_counted});
is(query(q{SELECT count(*) FROM planner.counted
	WHERE tableoid = to_regclass(to_char(now(), '"planner.counted_"YYYYMM'))}), 50, 'the rows are in their partition');
as_planner('INSERT INTO counted SELECT max(id) + 1, max(id) FROM counted;
	DELETE FROM counted WHERE id = (SELECT min(id) FROM counted)');
is(query('SELECT rows, fired FROM planner.counter'), '50|7', 'then triggers fire again');
like((psql_of('INSERT INTO counted SELECT max(id) + 1, 1 FROM counted'))[1], qr/violates foreign key/, 'as do foreign keys');

$node->stop;
done_testing();
