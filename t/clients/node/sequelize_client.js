// Run by t/clients/node.pl: a table and rows by Sequelize. The server is named by PGHOST, PGPORT, PGDATABASE and
// PGUSER.
'use strict';

const { DataTypes, literal, Sequelize } = require('sequelize');
const { run, say, versionOf } = require('./say');

run(async () => {
    const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: username } = process.env;
    const sequelize = new Sequelize({ dialect: 'postgres', host, port, database, username, logging: false });
    say('version', versionOf('sequelize'));

    const Order = sequelize.define('Order', {
        id: { type: DataTypes.BIGINT, primaryKey: true, defaultValue: literal('ids.next_id()') },
        customer: DataTypes.TEXT,
    }, { tableName: 'shop_orders', timestamps: false });
    await Order.sync();

    const order = await Order.create({ customer: 'Ada' });
    say('created', order.id);
    say('type', typeof order.id);
    const several = await Order.bulkCreate([{ customer: 'Ada' }, { customer: 'Grace' }]);
    say('several', ...several.map((row) => row.id));
    say('found', (await Order.findByPk(order.id)).customer);

    await Order.create({ id: '4032112536055714817', customer: 'exact' });
    say('exact', (await Order.findOne({ where: { customer: 'exact' } })).id);
    await sequelize.close();
});
