// Run by t/clients/node.pl: tables by migrations that TypeORM generates, and rows. The server is named by PGHOST,
// PGPORT, PGDATABASE and PGUSER.
'use strict';

const { spawnSync } = require('child_process');
const { run, say, versionOf, withLayout } = require('./say');
const { source } = require('./typeorm_source');

function typeorm(...command) {
    const { stdout, stderr } = spawnSync(process.execPath, ['node_modules/typeorm/cli.js', ...command, '-d', 'typeorm_source.js'],
        { cwd: __dirname, encoding: 'utf8' });
    return (stdout + stderr).match(/generated successfully|executed successfully|No changes in database schema were found|$/)[0];
}

run(async () => {
    say('version', versionOf('typeorm'));
    say('generated', typeorm('migration:generate', '--outputJs', 'typeorm_migrations/Orders'));
    say('migrated', typeorm('migration:run'));
    say('again', typeorm('migration:generate', '--outputJs', 'typeorm_migrations/Again'));

    await source.initialize();
    const orders = source.getRepository('Order');
    const order = await orders.save({ customer: 'Ada' });
    say('created', order.id);
    say('type', typeof order.id);
    const several = await orders.save([{ customer: 'Ada' }, { customer: 'Grace' }]);
    say('several', ...several.map((row) => row.id));
    say('found', (await orders.findOneBy({ id: order.id })).customer);

    await orders.insert({ id: '4032112536055714817', customer: 'exact' });
    say('exact', (await orders.findOneBy({ customer: 'exact' })).id);

    withLayout('typeorm_source.js');
    say('of_layout', ...['First', 'Second'].flatMap((name) =>
        [typeorm('migration:generate', '--outputJs', `typeorm_migrations/${name}`), typeorm('migration:run')]));
    await source.destroy();
});
