'use strict';

const { PGHOST, PGPORT, PGDATABASE, PGUSER } = process.env;

module.exports = {
    dialect: 'postgresql',
    schema: './drizzle_schema.js',
    out: './drizzle',
    dbCredentials: { url: `postgresql://${PGUSER}@localhost:${PGPORT}/${PGDATABASE}?host=${PGHOST}` },
};
