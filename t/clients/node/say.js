// What the programs here share: prints a line of a result, its name first, for t/lib/Clients.pm.
'use strict';

const { readFileSync, writeFileSync } = require('fs');

exports.say = (...values) => console.log(values.join('\t'));

// The version of the client's package of this name.
exports.versionOf = (name) => JSON.parse(
    readFileSync(`${__dirname}/node_modules/${name}/package.json`, 'utf8')).version;

// Writes into a file, in place of next_order_id(), the call of next_id with a layout that this function has.
exports.withLayout = (name) => {
    const [, call] = readFileSync(`${__dirname}/first_migration.sql`, 'utf8').match(/RETURN (.*);/);
    writeFileSync(`${__dirname}/${name}`, readFileSync(`${__dirname}/${name}`, 'utf8').replace('next_order_id()', call));
};

// Runs a program's main function, which prints its results.
exports.run = (main) => main().catch((error) => {
    console.error(error);
    process.exit(1);
});
