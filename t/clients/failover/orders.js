// Run by t/clients/failover.pl: orders by examples/patroni/insert_order.js, one after the other, while the servers
// change; prints the ids and errors that it receives. orders.js COUNT HOST PORT HOST PORT
'use strict';

const { insertOrder, errors } = require('./insert_order');

const [count, ...addresses] = process.argv.slice(2);
const servers = [];
for (let at = 0; at < addresses.length; at += 2)
    servers.push({ host: addresses[at], port: Number(addresses[at + 1]), database: 'postgres' });

async function main() {
    for (let number = 1; number <= Number(count); number++)
        console.log(`told\t${await insertOrder(servers, `order ${number}`)}\torder ${number}`);
    for (const error of errors)
        console.log(`error\t${error.code ?? 'no code'}\t${error.message}`);
    process.exit(0);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
