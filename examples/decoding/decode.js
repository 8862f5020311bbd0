// The parts of an id, and the id of a text, by BigInt. As a program it does the same as decode.py.
'use strict';

const fs = require('fs');

function decode(id, epoch = '2011-08-24T21:07:01.721Z', shardBits = 13n, sequenceBits = 10n) {
    const bits = BigInt.asUintN(64, BigInt(id)); // ids of later years are negative
    const time = new Date(Date.parse(epoch) + Number(bits >> (shardBits + sequenceBits)));
    return { time, shard: (bits >> sequenceBits) % 2n ** shardBits, sequence: bits % 2n ** sequenceBits };
}

function idFromText(text) {
    if (!/^[0-9A-Fa-fILOilo][0-9A-TV-Za-tv-z]{12}$/.test(text)) throw new RangeError(`not the text of an id: ${text}`);
    const digits = [...text.toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1')];
    return BigInt.asIntN(64, digits.reduce((id, c) => id * 32n + BigInt('0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(c)), 0n));
}

function answer(kind, ...words) {
    if (kind === 'text') {
        try {
            return [idFromText(words[0])];
        } catch (error) {
            if (!(error instanceof RangeError)) throw error;
            return ['refused'];
        }
    }
    const [epoch, shardBits, sequenceBits, id] = words;
    const { time, shard, sequence } = decode(id, epoch, BigInt(shardBits), BigInt(sequenceBits));
    return [time.toISOString(), shard, sequence];
}

const questions = fs.readFileSync(0, 'utf8').split('\n').slice(0, -1);
process.stdout.write(questions.map((line) => `${answer(...line.split('\t')).join('\t')}\n`).join(''));
