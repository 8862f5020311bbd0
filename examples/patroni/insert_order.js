// Inserts an order exactly once, with any number of attempts, on the server that accepts writes: the retries of
// docs/operations.md, with node-postgres, which does not search for the leader.
const { Client } = require('pg');
const errors = [];
let client;

// Connects to the first server that accepts writes.
async function connect(servers) {
    for (let at = 0; ; at++) {
        const found = new Client(servers[at % servers.length]);
        found.on('error', (error) => errors.push(error)); // without it, a lost connection ends the program
        try {
            await found.connect();
            const { rows: [row] } = await found.query('SELECT pg_is_in_recovery() AS standby');
            if (!row.standby) return found;
        } catch (error) {
            errors.push(error);
        }
        found.end().catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
}

// Whether the server was lost: an error of the connection, of a server that shuts down, or of a new standby.
const isLost = (error) => error.severity !== 'ERROR' || error.code === '25006';

async function insertOrder(servers, request) {
    for (;;) {
        try {
            client ??= await connect(servers);
            const { rows: [order] } = await client.query('INSERT INTO orders (request) VALUES ($1) '
                + 'ON CONFLICT (request) DO UPDATE SET request = excluded.request RETURNING id', [request]);
            return order.id;
        } catch (error) {
            if (!isLost(error)) throw error;
            errors.push(error);
            client = undefined;
        }
    }
}

module.exports = { insertOrder, errors };
