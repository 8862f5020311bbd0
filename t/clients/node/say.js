// What the programs here share: prints a line of a result, its name first, for t/lib/Clients.pm.
'use strict';

exports.say = (...values) => console.log(values.join('\t'));

// The version of the client's package of this name.
exports.versionOf = (name) => JSON.parse(
    require('fs').readFileSync(`${__dirname}/node_modules/${name}/package.json`, 'utf8')).version;

// Runs a program's main function, which prints its results.
exports.run = (main) => main().catch((error) => {
    console.error(error);
    process.exit(1);
});
