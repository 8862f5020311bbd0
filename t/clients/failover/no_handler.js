// Run by t/clients/failover.pl: a connection without an error handler. no_handler.js HOST PORT
'use strict';

const { Client } = require('pg');

const [host, port] = process.argv.slice(2);
const client = new Client({ host, port: Number(port), database: 'postgres' });
client.connect().then(() => {
    console.log('connected');
    setInterval(() => {}, 1000);
});
