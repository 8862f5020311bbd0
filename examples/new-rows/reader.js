// The reader of docs/new-rows.md, with node-postgres: follow calls process(client, row) for each new row, in batches. It
// asks every 100 ms. After an error, such as a lost connection, it waits a second and continues with a new Client.
const { Client } = require('pg');

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Returns how many rows it has read. Ids are strings.
async function read(client, process) {
    await client.query('BEGIN');
    const { rows: [reader] } = await client.query("SELECT below FROM readers WHERE name = 'mailer' FOR UPDATE");
    const { rows: [{ bound }] } = await client.query("SELECT ids.settled_below('ids.order_ids') AS bound");
    const { rows } = await client.query(
        'SELECT id, item FROM orders WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1000', [reader.below, bound]);
    for (const row of rows) await process(client, row);
    const below = rows.length === 1000 ? BigInt(rows.at(-1).id) + 1n : bound;
    if (rows.length > 0) await client.query("UPDATE readers SET below = $1 WHERE name = 'mailer'", [below]);
    await client.query('COMMIT');
    return rows.length;
}

async function follow(config, process) {
    for (;;) {
        const client = new Client(config);
        client.on('error', () => {}); // the query fails as well
        try {
            await client.connect();
            for (;;)
                if (await read(client, process) === 0) await sleep(100);
        } catch (error) {
            console.error(error.message);
        }
        await client.end().catch(() => {});
        await sleep(1000);
    }
}

module.exports = { follow };
