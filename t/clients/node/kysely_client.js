// Run by t/clients/node.pl: a table and rows by Kysely. The server is named by PGHOST, PGPORT and PGDATABASE.
'use strict';

const { Kysely, PostgresDialect, sql } = require('kysely');
const { Pool } = require('pg');
const { run, say, versionOf } = require('./say');

run(async () => {
    const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool() }) });
    say('version', versionOf('kysely'));

    await db.schema.createTable('shop_orders')
        .addColumn('id', 'bigint', (column) => column.primaryKey().defaultTo(sql`ids.next_id()`))
        .addColumn('customer', 'text')
        .execute();

    const order = await db.insertInto('shop_orders').values({ customer: 'Ada' }).returning('id').executeTakeFirst();
    say('created', order.id);
    say('type', typeof order.id);
    const several = await db.insertInto('shop_orders').values([{ customer: 'Ada' }, { customer: 'Grace' }])
        .returning('id').execute();
    say('several', ...several.map((row) => row.id));

    const result = await db.insertInto('shop_orders').values({ customer: 'Ada' }).executeTakeFirst();
    say('insert_id', result.insertId);

    await db.insertInto('shop_orders').values({ id: '4032112536055714817', customer: 'exact' }).execute();
    const row = await db.selectFrom('shop_orders').select('id').where('customer', '=', 'exact').executeTakeFirst();
    say('exact', row.id);
    await db.destroy();
});
