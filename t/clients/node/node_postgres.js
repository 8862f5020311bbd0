// Run by t/clients/node.pl: rows by node-postgres. The server is named by PGHOST, PGPORT and PGDATABASE.
'use strict';

const { Client, types } = require('pg');
const { run, say, versionOf } = require('./say');

run(async () => {
    const client = new Client();
    await client.connect();
    say('version', versionOf('pg'));

    const { rows: [order] } = await client.query('INSERT INTO orders (customer) VALUES ($1) RETURNING id', ['Ada']);
    say('created', order.id);
    say('type', typeof order.id);
    const { rows: [found] } = await client.query('SELECT customer FROM orders WHERE id = $1', [order.id]);
    say('found', found.customer);

    const exact = 'SELECT id, json_build_object(\'id\', id)::text AS as_number, '
        + 'json_build_object(\'id\', id::text)::text AS as_text FROM orders WHERE customer = \'exact\'';
    const { rows: [row] } = await client.query(exact);
    row.id;                       // '4032112536055714817', a string: all digits
    BigInt(row.id);               // 4032112536055714817n
    Number(row.id);               // 4032112536055715000: another id
    JSON.parse(row.as_number).id; // 4032112536055715000: PostgreSQL wrote {"id" : 4032112536055714817}
    JSON.parse(row.as_text).id;   // '4032112536055714817': it wrote {"id" : "4032112536055714817"}
    say('exact', row.id);
    say('bigint', BigInt(row.id));
    say('number', Number(row.id), BigInt(Number(row.id)));
    say('json_number', JSON.parse(row.as_number).id);
    say('json_text', JSON.parse(row.as_text).id);
    const missed = await client.query('SELECT FROM orders WHERE id = $1', [BigInt(Number(row.id))]);
    say('found_by_number', missed.rows.length);

    const { rows: [small] } = await client.query('INSERT INTO visits DEFAULT VALUES RETURNING id');
    say('small', small.id);
    say('small_number', Number(small.id), Number.isSafeInteger(Number(small.id)));

    types.setTypeParser(types.builtins.INT8, BigInt);
    const { rows: [parsed] } = await client.query(exact);
    say('parsed', typeof parsed.id, parsed.id);
    try {
        JSON.stringify(parsed);
    } catch (error) {
        say('stringify', error.name);
    }
    const replaced = JSON.stringify(parsed, (_, value) => typeof value === 'bigint' ? String(value) : value);
    say('replaced', JSON.parse(replaced).id);
    await client.end();
});
