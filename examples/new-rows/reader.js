// A reader of contrib/readers/README.md, with node-postgres: follow calls process(client, row) for each new row. It asks
// every 100 ms. After an error, such as a lost connection, it waits a second and continues with a new Client.
const { Client } = require('pg');

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Returns how many rows it has read. Ids are strings.
async function read(client, process) {
    await client.query('BEGIN');
    const { rows } = await client.query("SELECT id, item FROM shardid_readers.next_rows('mailer', NULL::orders)");
    for (const row of rows) await process(client, row);
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
