// Public ids as in contrib/public_ids/public_ids.sql, see contrib/public_ids/README.md. For Node.js; ids are BigInts.
'use strict';

const { createCipheriv, createDecipheriv, createHmac } = require('crypto');

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const KIND = /^[a-z][a-z0-9_]{0,62}$/;
const TEXT = /^([a-z][a-z0-9_]{0,62})_([0-9a-hjkmnp-tv-z]{26})$/;

class PublicIds {
    // The 32 bytes of each key by its number, in a Map, and the number of the key for new texts.
    constructor(keys, current) {
        Object.assign(this, { keys, current });
    }

    aes(make, number, kind, block) {
        const key = createHmac('sha256', this.keys.get(number)).update(`shardid public id 1:${kind}`).digest().subarray(0, 16);
        return make('aes-128-ecb', key, null).setAutoPadding(false).update(block);
    }

    encode(kind, id) {
        if (!KIND.test(kind)) throw new RangeError(`invalid kind of a public id: ${kind}`);
        const plain = Buffer.alloc(16);
        plain.writeBigInt64BE(id);
        const block = this.aes(createCipheriv, this.current, kind, plain);
        let bits = BigInt(`0x${block.toString('hex')}`) | BigInt(this.current) << 128n;
        let digits = '';
        for (; digits.length < 26; bits >>= 5n) digits = ALPHABET[Number(bits & 31n)] + digits;
        return `${kind}_${digits}`;
    }

    // Returns null if the text is no public id of this kind.
    decode(kind, text) {
        const match = TEXT.exec(text);
        if (!match || match[1] !== kind) return null;
        const bits = [...match[2]].reduce((sum, digit) => sum << 5n | BigInt(ALPHABET.indexOf(digit)), 0n);
        const number = Number(bits >> 128n);
        if (!this.keys.has(number)) return null;
        const block = Buffer.from(BigInt.asUintN(128, bits).toString(16).padStart(32, '0'), 'hex');
        const plain = this.aes(createDecipheriv, number, kind, block);
        return plain.readBigUInt64BE(8) === 0n ? plain.readBigInt64BE() : null;
    }
}

module.exports = { PublicIds };
