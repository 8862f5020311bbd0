"""The parts of an id, and the id of a text. As a program it answers each line of input: "id EPOCH SHARD_BITS
SEQUENCE_BITS ID" with time, shard and sequence, "text TEXT" with the id. The programs next to it do the same.
"""
import re
import sys
from datetime import datetime, timedelta, timezone


def decode(id, epoch=datetime(2011, 8, 24, 21, 7, 1, 721000, timezone.utc), shard_bits=13, sequence_bits=10):
    bits = id % 2**64  # ids of later years are negative
    time = epoch + timedelta(milliseconds=bits >> shard_bits + sequence_bits)
    return time, (bits >> sequence_bits) % 2**shard_bits, bits % 2**sequence_bits


def id_from_text(text):
    if not re.fullmatch('[0-9A-Fa-fILOilo][0-9A-TV-Za-tv-z]{12}', text):
        raise ValueError('not the text of an id: ' + text)
    id = int(text.upper().translate(str.maketrans('OILJKMNPQRSTVWXYZ', '011IJKLMNOPQRSTUV')), 32)
    return id if id < 2**63 else id - 2**64


def answer(kind, *words):
    if kind == 'text':
        try:
            return [id_from_text(*words)]
        except ValueError:
            return ['refused']
    epoch, shard_bits, sequence_bits, id = words
    time, shard, sequence = decode(int(id), datetime.fromisoformat(epoch.replace('Z', '+00:00')), int(shard_bits), int(sequence_bits))
    return [time.isoformat(timespec='milliseconds').replace('+00:00', 'Z'), shard, sequence]


if __name__ == '__main__':
    sys.stdin.reconfigure(encoding='utf-8')
    for line in sys.stdin:
        print(*answer(*line.rstrip('\n').split('\t')), sep='\t')
