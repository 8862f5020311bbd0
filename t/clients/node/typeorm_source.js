// The data source of typeorm_client.js, which TypeORM's command line reads, too.
'use strict';

const { DataSource, EntitySchema } = require('typeorm');

const Order = new EntitySchema({
    name: 'Order',
    tableName: 'shop_orders',
    columns: {
        id: { type: 'bigint', primary: true, default: () => 'ids.next_id()' },
        customer: { type: 'text' },
    },
});

const Invoice = new EntitySchema({
    name: 'Invoice',
    tableName: 'invoices',
    columns: { id: { type: 'bigint', primary: true, default: () => `next_order_id()` } },
});

const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: username } = process.env;
exports.source = new DataSource({
    type: 'postgres', host, port, database, username, entities: [Order, Invoice],
    migrations: [`${__dirname}/typeorm_migrations/*.js`],
});
