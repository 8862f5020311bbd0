// Run by t/clients/node.pl: rows by Prisma. The server is named by PGHOST, PGPORT and PGDATABASE.
'use strict';

const { execFileSync } = require('child_process');
const { run, say, versionOf } = require('./say');

// The client is JavaScript and WebAssembly here. With these settings prisma does not fetch its native engines, which it
// would not use.
execFileSync(process.execPath, ['node_modules/prisma/build/index.js', 'generate', '--schema', 'schema.prisma'], {
    cwd: __dirname,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
        ...process.env,
        CHECKPOINT_DISABLE: '1',
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        PRISMA_QUERY_ENGINE_LIBRARY: __filename,
        PRISMA_SCHEMA_ENGINE_BINARY: __filename,
    },
});
const { PrismaClient } = require('./prisma');
const { PrismaPg } = require('@prisma/adapter-pg');

run(async () => {
    const prisma = new PrismaClient({ adapter: new PrismaPg({}) });
    say('version', versionOf('@prisma/client'));

    const order = await prisma.orders.create({ data: { customer: 'Ada' } });
    say('created', order.id);
    say('type', typeof order.id);
    const several = await prisma.orders.createManyAndReturn({ data: [{ customer: 'Ada' }, { customer: 'Grace' }] });
    say('several', ...several.map((row) => row.id));

    const row = await prisma.orders.findUnique({ where: { id: 4032112536055714817n } });
    say('exact', row.id);
    try {
        JSON.stringify(row);
    } catch (error) {
        say('stringify', error.name);
    }
    JSON.stringify({ ...row, id: String(row.id) });
    say('json', JSON.stringify({ ...row, id: String(row.id) }));
    const [raw] = await prisma.$queryRaw`SELECT id FROM orders WHERE customer = 'exact'`;
    say('raw', typeof raw.id, raw.id);
    await prisma.$disconnect();
});
