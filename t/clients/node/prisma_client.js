// Run by t/clients/node.pl: tables by prisma migrate and rows by Prisma. The server is named by PGHOST, PGPORT,
// PGDATABASE and PGUSER.
'use strict';

const { spawnSync } = require('child_process');
const { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } = require('fs');
const { run, say, versionOf, withLayout } = require('./say');

// What the tool prints, without empty lines and colours. It migrates on terminals only, which script makes.
function prisma(...command) {
    const line = [process.execPath, 'node_modules/prisma/build/index.js', ...command].join(' ');
    const { status, stdout } = spawnSync('script', ['-qec', line, '/dev/null'], {
        cwd: __dirname,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: 100000,
        env: {
            ...process.env,
            CHECKPOINT_DISABLE: '1',
            PRISMA_HIDE_UPDATE_MESSAGE: '1',
            PRISMA_SCHEMA_ENGINE_BINARY: `${__dirname}/prisma_schema_engine.js`,
        },
    });
    if (status !== 0)
        throw new Error(`${line}: ${stdout}`);
    return stdout.replace(/\x1b\[\d+m|\r/g, '').replace(/\n+/g, '\n');
}

function migrate() {
    mkdirSync(`${__dirname}/migrations/0_shardid`, { recursive: true });
    writeFileSync(`${__dirname}/migrations/0_shardid/migration.sql`,
        readFileSync(`${__dirname}/first_migration.sql`, 'utf8') + readFileSync('t/clients/sharded.sql', 'utf8'));
    say('deployed', prisma('migrate', 'deploy').match(/successfully applied|$/)[0]);
    say('migrated', prisma('migrate', 'dev', '--name', 'orders').match(/now in sync|$/)[0]);
    const [name] = readdirSync(`${__dirname}/migrations`).filter((entry) => entry.endsWith('_orders'));
    say('migration', readFileSync(`${__dirname}/migrations/${name}/migration.sql`, 'utf8').match(/"id" .*/)[0]);
    say('again', prisma('migrate', 'dev', '--name', 'again').match(/Already in sync|$/)[0]);
    withLayout('schema.prisma');
    for (const name of ['first', 'second'])
        say(name, prisma('migrate', 'dev', '--name', name).match(/now in sync|Already in sync|$/)[0]);
    say('pulled', prisma('db', 'pull', '--print').match(/id +BigInt.*/)[0].replace(/ +/g, ' '));
}

run(async () => {
    say('version', versionOf('@prisma/client'), versionOf('prisma'));
    chmodSync(`${__dirname}/prisma_schema_engine.js`, 0o755);
    prisma('generate');
    migrate();

    const { PrismaClient } = require('./prisma');
    const { PrismaPg } = require('@prisma/adapter-pg');
    const client = new PrismaClient({ adapter: new PrismaPg({}) });
    const order = await client.orders.create({ data: { customer: 'Ada' } });
    say('created', order.id);
    say('type', typeof order.id);
    const several = await client.orders.createManyAndReturn({ data: [{ customer: 'Ada' }, { customer: 'Grace' }] });
    say('several', ...several.map((row) => row.id));

    await client.orders.create({ data: { id: 4032112536055714817n, customer: 'exact' } });
    const row = await client.orders.findUnique({ where: { id: 4032112536055714817n } });
    say('exact', row.id);
    try {
        JSON.stringify(row);
    } catch (error) {
        say('stringify', error.name);
    }
    JSON.stringify({ ...row, id: String(row.id) });
    say('json', JSON.stringify({ ...row, id: String(row.id) }));
    const [raw] = await client.$queryRaw`SELECT id FROM orders WHERE customer = 'exact'`;
    say('raw', typeof raw.id, raw.id);
    const photo = await client.photos.create({ data: { user_id: 4007 } });
    const photos = await client.photos.createManyAndReturn({ data: [{ user_id: 7 }, { user_id: 2007 }] });
    say('sharded', photo.id, ...photos.map((row) => row.id));
    await client.$disconnect();
});
