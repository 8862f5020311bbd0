#!/usr/bin/env node
// Prisma's schema engine, which migrates and introspects, for prisma_client.js: the WebAssembly that npm has of it, in the
// place of the program that prisma fetches from elsewhere. It answers JSON-RPC, a request in each line.
'use strict';

const { PrismaPg } = require('@prisma/adapter-pg');
const { ColumnTypeEnum, bindMigrationAwareSqlAdapterFactory } = require('@prisma/driver-adapter-utils');
const { readFileSync } = require('fs');
const { createInterface } = require('readline');

// What the adapter has for programs is not enough for the engine: it does not know the type "char" of the catalogs, splits a
// script at each semicolon, and drops its shadow database while it is connected to it.
class Factory extends PrismaPg {
    async connect() {
        const adapter = await super.connect();
        const { performIO, queryRaw } = adapter;
        let chars;
        adapter.performIO = async (query) => {
            const result = await performIO.call(adapter, query);
            chars = result.fields.map((field) => field.dataTypeID === 18);
            result.fields = result.fields.map((field, n) => chars[n] ? { ...field, dataTypeID: 25 } : field);
            return result;
        };
        adapter.queryRaw = async (query) => {
            const result = await queryRaw.call(adapter, query);
            return { ...result, columnTypes: result.columnTypes.map((type, n) => chars[n] ? ColumnTypeEnum.Character : type) };
        };
        adapter.executeScript = async (script) => {
            await adapter.underlyingDriver().query(script);
        };
        return adapter;
    }

    async connectToShadowDb() {
        const database = `shadow_${process.pid}`;
        const outside = await this.connect();
        await outside.executeScript(`CREATE DATABASE ${database}`);
        const inside = await new Factory({ database }).connect();
        const end = inside.dispose.bind(inside);
        inside.dispose = async () => {
            await end();
            await outside.executeScript(`DROP DATABASE ${database}`);
            await outside.dispose();
        };
        return inside;
    }
}

const words = process.argv.slice(2);
const valuesOf = (name) => words.flatMap((word, n) => word === name ? [words[n + 1]] : []);

async function main() {
    const module = await import('@prisma/schema-engine-wasm/schema_engine_bg');
    const code = readFileSync(`${__dirname}/node_modules/@prisma/schema-engine-wasm/schema_engine_bg.wasm`);
    const { instance } = await WebAssembly.instantiate(code, { './schema_engine_bg.js': module });
    module.__wbg_set_wasm(instance.exports);
    instance.exports.__wbindgen_start();

    const datamodels = valuesOf('--datamodels').map((path) => [path, readFileSync(path, 'utf8')]);
    const adapter = bindMigrationAwareSqlAdapterFactory(new Factory({}));
    const engine = await module.SchemaEngine.new({ datamodels: datamodels.length ? datamodels : undefined }, () => {}, adapter);
    for await (const line of createInterface({ input: process.stdin })) {
        const { id, method, params } = JSON.parse(line);
        let answer;
        try {
            answer = { result: await engine[method](params) ?? null };
        } catch ({ message, code, meta }) {
            answer = { error: { code: 4466, message, data: { is_panic: false, message, error_code: code, meta } } };
        }
        console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    }
    process.exit();
}

// "cli can-connect-to-database" is answered by the status.
if (!words.includes('cli'))
    main();
