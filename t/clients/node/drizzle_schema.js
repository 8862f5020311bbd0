'use strict';

const { sql } = require('drizzle-orm');
const { customType, pgTable, text } = require('drizzle-orm/pg-core');

const id = customType({ dataType: () => 'bigint' });

exports.orders = pgTable('orders', {
    id: id().primaryKey().default(sql`ids.next_id()`),
    customer: text(),
});

exports.invoices = pgTable('invoices', {
    id: id().primaryKey().default(sql`next_order_id()`),
});
