// Run by t/clients/node.pl: a table and rows by Knex. The server is named by PGHOST, PGPORT and PGDATABASE.
'use strict';

const { run, say, versionOf } = require('./say');
const knex = require('knex')({ client: 'pg', connection: {} });

run(async () => {
    say('version', versionOf('knex'));

    await knex.schema.createTable('shop_orders', (table) => {
        table.bigInteger('id').primary().defaultTo(knex.raw('ids.next_id()'));
        table.text('customer');
    });

    const [order] = await knex('shop_orders').insert({ customer: 'Ada' }).returning('id');
    say('created', order.id);
    say('type', typeof order.id);
    const several = await knex('shop_orders').insert([{ customer: 'Ada' }, { customer: 'Grace' }]).returning('id');
    say('several', ...several.map((row) => row.id));

    const batches = await knex.batchInsert('shop_orders', Array(10).fill({ customer: 'Ada' }), 5).returning('id');
    say('batches', ...batches.map((row) => row.id));

    await knex('shop_orders').insert({ id: '4032112536055714817', customer: 'exact' });
    say('exact', (await knex('shop_orders').first('id').where({ customer: 'exact' })).id);
    await knex.destroy();
});
