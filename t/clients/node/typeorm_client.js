// Run by t/clients/node.pl: a table and rows by TypeORM. The server is named by PGHOST, PGPORT, PGDATABASE and
// PGUSER.
'use strict';

const { DataSource, EntitySchema } = require('typeorm');
const { run, say, versionOf } = require('./say');

const Order = new EntitySchema({
    name: 'Order',
    tableName: 'shop_orders',
    columns: {
        id: { type: 'bigint', primary: true, default: () => 'ids.next_id()' },
        customer: { type: 'text' },
    },
});

run(async () => {
    const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: username } = process.env;
    const source = new DataSource({ type: 'postgres', host, port, database, username, entities: [Order], synchronize: true });
    await source.initialize();
    say('version', versionOf('typeorm'));

    const orders = source.getRepository('Order');
    const order = await orders.save({ customer: 'Ada' });
    say('created', order.id);
    say('type', typeof order.id);
    const several = await orders.save([{ customer: 'Ada' }, { customer: 'Grace' }]);
    say('several', ...several.map((row) => row.id));
    say('found', (await orders.findOneBy({ id: order.id })).customer);

    await orders.insert({ id: '4032112536055714817', customer: 'exact' });
    say('exact', (await orders.findOneBy({ customer: 'exact' })).id);

    // What a second synchronize would do: nothing, if the default is written as the database shows it.
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    say('second', ...upQueries.map(({ query }) => query));
    await source.destroy();
});
