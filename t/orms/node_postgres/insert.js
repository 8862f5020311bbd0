// What t/018_orms.pl runs: rows by node-postgres. Prints a line a result, its name first. The server is
// named by PGHOST, PGPORT and PGDATABASE.
'use strict';

const { Client, types } = require('pg');

function say(...values) {
    console.log(values.join('\t'));
}

async function main() {
    const client = new Client();
    await client.connect();
    say('version', require('pg/package.json').version);

    const insert = 'INSERT INTO photos (name) VALUES ($1) RETURNING id, '
        + 'json_build_object(\'id\', id)::text AS as_json, json_build_object(\'id\', id::text)::text AS as_json_text';
    const { rows: [row] } = await client.query(insert, ['lighthouse']);
    say('type', typeof row.id);
    say('id', row.id);
    say('bigint', BigInt(row.id));
    say('number', BigInt(Number(row.id)));
    say('json_number', BigInt(JSON.parse(row.as_json).id));
    say('json_text', JSON.parse(row.as_json_text).id);
    const found = await client.query('SELECT name FROM photos WHERE id = $1', [row.id]);
    say('found', found.rows[0].name);
    const missed = await client.query('SELECT name FROM photos WHERE id = $1', [BigInt(Number(row.id))]);
    say('found_by_number', missed.rows.length);

    const { rows: [small] } = await client.query('INSERT INTO small (name) VALUES ($1) RETURNING id', ['lighthouse']);
    say('small', small.id);
    say('small_number', Number(small.id), Number.isSafeInteger(Number(small.id)));

    types.setTypeParser(types.builtins.INT8, BigInt);
    const { rows: [parsed] } = await client.query('INSERT INTO photos (name) VALUES ($1) RETURNING id', ['parsed']);
    say('parsed', typeof parsed.id, parsed.id);
    try {
        JSON.stringify(parsed);
    } catch (error) {
        say('stringify', error.name);
    }
    await client.end();
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
