// Run by t/clients/node.pl: rows by postgres.js. The server is named by PGHOST, PGPORT and PGDATABASE.
'use strict';

const postgres = require('postgres');
const { run, say, versionOf } = require('./say');

run(async () => {
    const sql = postgres();
    say('version', versionOf('postgres'));

    const [order] = await sql`INSERT INTO orders ${sql({ customer: 'Ada' })} RETURNING id`;
    say('created', order.id);
    say('type', typeof order.id);
    const [found] = await sql`SELECT customer FROM orders WHERE id = ${order.id}`;
    say('found', found.customer);

    const several = await sql`INSERT INTO orders ${sql([{ customer: 'Ada' }, { customer: 'Grace' }])} RETURNING id`;
    say('several', ...several.map((row) => row.id));

    const [row] = await sql`SELECT id FROM orders WHERE customer = 'exact'`;
    say('exact', row.id);
    await sql.end();

    const sqlOfBigInts = postgres({ types: { bigint: postgres.BigInt } });
    const [parsed] = await sqlOfBigInts`SELECT id FROM orders WHERE customer = 'exact'`;
    say('parsed', typeof parsed.id, parsed.id);
    await sqlOfBigInts.end();
});
