// A reader of contrib/readers/README.md, with node-postgres: follow calls process(client, row) for each new row, whose id
// is a string. It asks every 100 ms. After an error, such as a lost connection, wait a second, and call it again.
const { Client } = require('pg');
const { setTimeout: sleep } = require('timers/promises');

async function follow(config, process) {
    const client = new Client(config);
    client.on('error', () => {}); // the query fails as well
    try {
        await client.connect();
        for (;;) {
            await client.query('BEGIN');
            const { rows } = await client.query("SELECT id, item FROM shardid_readers.next_rows('mailer', NULL::orders)");
            for (const row of rows) await process(client, row);
            await client.query('COMMIT');
            if (rows.length === 0) await sleep(100);
        }
    } finally {
        await client.end().catch(() => {});
    }
}

module.exports = { follow };
