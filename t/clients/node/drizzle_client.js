// Run by t/clients/node.pl: tables by drizzle-kit and rows by Drizzle. The server is named by PGHOST, PGPORT,
// PGDATABASE and PGUSER.
'use strict';

const { and, desc, eq, gte, lt, sql } = require('drizzle-orm');
const { drizzle } = require('drizzle-orm/node-postgres');
const { bigint, pgTable } = require('drizzle-orm/pg-core');
const { spawnSync } = require('child_process');
const { appendFileSync, copyFileSync, readFileSync, writeFileSync } = require('fs');
const { Pool } = require('pg');
const { orders } = require('./drizzle_schema');
const { run, say, versionOf, withLayout } = require('./say');

// drizzle-kit ends with status 0 even if the server has refused something.
function kit(...command) {
    const { stdout, stderr } = spawnSync(process.execPath, ['node_modules/drizzle-kit/bin.cjs', ...command],
        { cwd: __dirname, encoding: 'utf8' });
    return (stdout + stderr).match(/migrations applied successfully|Changes applied|No changes detected|No schema changes|Your SQL migration file|code: '\w+'|$/)[0];
}

run(async () => {
    say('version', versionOf('drizzle-orm'), versionOf('drizzle-kit'));
    say('generated', kit('generate', '--custom', '--name=shardid'), kit('generate'), kit('generate'));
    copyFileSync(`${__dirname}/first_migration.sql`, `${__dirname}/drizzle/0000_shardid.sql`);
    say('migrated', kit('migrate'));
    const pool = new Pool();
    await pool.query('CREATE SEQUENCE stray_ids; DROP TABLE orders');
    say('push', kit('push', '--force'));
    const { rows: left } = await pool.query('SELECT relname FROM pg_class WHERE relkind = \'S\' ORDER BY 1');
    say('sequences', ...left.map((row) => row.relname));
    say('again', kit('push', '--force'));

    const db = drizzle(pool);
    const [order] = await db.insert(orders).values({ customer: 'Ada' }).returning({ id: orders.id });
    say('created', order.id);
    say('type', typeof order.id);
    const several = await db.insert(orders).values([{ customer: 'Ada' }, { customer: 'Grace' }]).returning();
    say('several', ...several.map((row) => row.id));

    await db.insert(orders).values({ id: 4032112536055714817n, customer: 'exact' });
    const [row] = await db.select().from(orders).where(eq(orders.customer, 'exact'));
    say('exact', row.id);
    say('json', JSON.stringify(row));
    const asBigInt = pgTable('orders', { id: bigint({ mode: 'bigint' }) });
    const [big] = await db.select().from(asBigInt).where(eq(orders.customer, 'exact'));
    say('bigint', typeof big.id, big.id);

    const last = several[1].id;
    const pageSince = (since) =>
    db.select().from(orders).where(and(gte(orders.id, sql`ids.id_lower_bound(${since})`), lt(orders.id, last)))
        .orderBy(desc(orders.id)).limit(20);
    say('page', ...(await pageSince(new Date('2026-01-01'))).map((each) => each.id));
    say('of_hour', ...(await pageSince(new Date(Date.now() - 3600000))).map((each) => each.id));

    // A column that was an identity gets the default: by the statements as they are written, and in the page's order.
    const migrateTickets = (kind) => {
        appendFileSync(`${__dirname}/drizzle_schema.js`, `exports.tickets = pgTable('tickets', {
            id: require('drizzle-orm/pg-core').bigint({ mode: 'bigint' }).primaryKey().${kind} });\n`);
        return kit('generate', '--name=tickets') && kit('migrate');
    };
    say('identity', migrateTickets('generatedAlwaysAsIdentity()'), migrateTickets('default(sql`ids.next_id()`)'));
    const file = `${__dirname}/drizzle/0003_tickets.sql`;
    writeFileSync(file, readFileSync(file, 'utf8').split('--> statement-breakpoint').reverse().join('\n--> statement-breakpoint\n'));
    say('reordered', kit('migrate'));

    say('pull', kit('pull'));
    say('pulled', readFileSync(`${__dirname}/drizzle/schema.ts`, 'utf8').match(/bigint\(.*mode: "(\w+)"/)[1]);
    const pulled = pgTable('orders', { id: bigint({ mode: 'number' }) });
    const [lossy] = await db.select().from(pulled).where(eq(orders.customer, 'exact'));
    say('number', lossy.id, BigInt(lossy.id));

    withLayout('drizzle_schema.js');
    say('of_layout', kit('push', '--force'), kit('push', '--force'));
    await pool.end();
});
