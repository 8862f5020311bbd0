// Run by t/clients/node.pl: a table by drizzle-kit push and rows by Drizzle. The server is named by PGHOST, PGPORT,
// PGDATABASE and PGUSER.
'use strict';

const { eq } = require('drizzle-orm');
const { drizzle } = require('drizzle-orm/node-postgres');
const { bigint, pgTable } = require('drizzle-orm/pg-core');
const { spawnSync } = require('child_process');
const { readFileSync } = require('fs');
const { Pool } = require('pg');
const { orders } = require('./drizzle_schema');
const { run, say, versionOf } = require('./say');

// drizzle-kit ends with status 0 even if the server has refused something.
function kit(...command) {
    const { stdout, stderr } = spawnSync(process.execPath, ['node_modules/drizzle-kit/bin.cjs', ...command],
        { cwd: __dirname, encoding: 'utf8' });
    return (stdout + stderr).match(/Changes applied|No changes detected|No schema changes|Your SQL migration file|code: '\w+'|$/)[0];
}

run(async () => {
    say('version', versionOf('drizzle-orm'), versionOf('drizzle-kit'));
    say('push', kit('push', '--force'));
    const pool = new Pool();
    const { rows: left } = await pool.query('SELECT relname FROM pg_class WHERE relkind = \'S\' ORDER BY 1');
    say('sequences', ...left.map((row) => row.relname));
    say('again', kit('push', '--force'));
    say('generated', kit('generate'), kit('generate'));

    const db = drizzle(pool);
    const [order] = await db.insert(orders).values({ customer: 'Ada' }).returning({ id: orders.id });
    say('created', order.id);
    say('type', typeof order.id);
    const several = await db.insert(orders).values([{ customer: 'Ada' }, { customer: 'Grace' }]).returning();
    say('several', ...several.map((row) => row.id));

    await db.insert(orders).values({ id: 4032112536055714817n, customer: 'exact' });
    const [row] = await db.select().from(orders).where(eq(orders.customer, 'exact'));
    say('exact', row.id);

    say('pull', kit('pull'));
    say('pulled', readFileSync(`${__dirname}/drizzle/schema.ts`, 'utf8').match(/bigint\(.*mode: "(\w+)"/)[1]);
    const pulled = pgTable('orders', { id: bigint({ mode: 'number' }) });
    const [lossy] = await db.select().from(pulled).where(eq(orders.customer, 'exact'));
    say('number', lossy.id, BigInt(lossy.id));
    await pool.end();
});
