// Run by t/clients/node.pl: which ways to set a shard number each client knows. Prints the number in a new id, or
// the error. The server is named by PGHOST, PGPORT, PGDATABASE and PGUSER, and the database has no number.
'use strict';

const { PrismaPg } = require('@prisma/adapter-pg');
const { drizzle } = require('drizzle-orm/node-postgres');
const drizzleOnPostgresJs = require('drizzle-orm/postgres-js').drizzle;
const knex = require('knex');
const { Pool } = require('pg');
const postgres = require('postgres');
const { DataSource } = require('typeorm');
const { PrismaClient } = require('./prisma');
const { run, say } = require('./say');

const shard = 'SELECT ids.id_shard(ids.next_id()) AS shard';
const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: username } = process.env;

const clients = {
    async nodePostgres(config) {
        const pool = new Pool(config);
        return pool.query(shard).finally(() => pool.end());
    },
    async postgresJs(config) {
        const sql = postgres(config);
        return sql.unsafe(shard).finally(() => sql.end());
    },
    async knex(connection) {
        const client = knex({ client: 'pg', connection });
        return client.raw(shard).finally(() => client.destroy());
    },
    async typeorm(config) {
        const source = await new DataSource({ type: 'postgres', host, port, database, username, ...config }).initialize();
        return source.query(shard).finally(() => source.destroy());
    },
    async drizzle(connection) {
        const db = drizzle({ connection });
        return db.execute(shard).finally(() => db.$client.end());
    },
    async drizzleOnPostgresJs(connection) {
        const db = drizzleOnPostgresJs({ connection });
        return db.execute(shard).finally(() => db.$client.end());
    },
    async prisma(config) {
        const client = new PrismaClient({ adapter: new PrismaPg(config) });
        return client.$queryRawUnsafe(shard).finally(() => client.$disconnect());
    },
};

async function shardBy(client, config) {
    try {
        const result = await clients[client](config);
        return (result.rows ?? result)[0].shard;
    } catch (error) {
        return String(error.cause?.message ?? error.message).match(/no shard is set|$/)[0];
    }
}

run(async () => {
    const options = '-c shardid.shard_id=5';
    const url = `postgresql:///${database}?options=-c%20shardid.shard_id%3D5`;
    const ofPool = { options };
    const ofPostgresJs = { connection: { 'shardid.shard_id': 5 } };
    for (const [client, ofProgram, ofUrl] of [
        ['nodePostgres', ofPool, { connectionString: url }],
        ['postgresJs', ofPostgresJs, url],
        ['knex', ofPool, url],
        ['typeorm', { extra: ofPool }, { url }],
        ['drizzle', ofPool, url],
        ['drizzleOnPostgresJs', ofPostgresJs, url],
        ['prisma', ofPool, { connectionString: url }],
    ]) {
        delete process.env.PGOPTIONS;
        const shards = [await shardBy(client, ofUrl), await shardBy(client, ofProgram), await shardBy(client, {})];
        process.env.PGOPTIONS = options;
        say(client, ...shards, await shardBy(client, {}));
    }
});
