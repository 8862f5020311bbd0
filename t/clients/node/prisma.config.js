'use strict';

const { PGHOST, PGPORT, PGDATABASE, PGUSER } = process.env;

module.exports = {
    schema: 'schema.prisma',
    migrations: { path: 'migrations' },
    datasource: { url: `postgresql://${PGUSER}@localhost:${PGPORT}/${PGDATABASE}?host=${PGHOST}` },
};
