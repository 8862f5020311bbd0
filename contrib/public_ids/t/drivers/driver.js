// The same as driver.py.
'use strict';

const { PublicIds } = require('../../public_ids.js');

const [first, ...requests] = require('fs').readFileSync(0, 'utf8').trimEnd().split('\n');
const keys = new Map(first.split(' ').map((key) => key.split('=')).map(([number, hex]) => [Number(number), Buffer.from(hex, 'hex')]));
const text = (hex) => Buffer.from(hex, 'hex').toString();

for (const request of requests) {
    const [call, current, kind, value] = request.split('\t');
    try {
        console.log(String(call === 'encode' ? new PublicIds(keys, Number(current)).encode(text(kind), BigInt(value))
            : new PublicIds(keys).decode(text(kind), text(value))));
    } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        console.log('refused');
    }
}
