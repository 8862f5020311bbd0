#!/usr/bin/env python3
"""Prints vectors.json: ids of several layouts with their parts and text, days with the ids that bound them, UUIDs,
ObjectIds, and texts that are no ids. Times end with the year 9999, as most languages' types for them do.

It shares no code with what it checks: base 32 is that of the base64 module, version 1 that of the uuid module.
"""
import base64
import json
import uuid
from datetime import datetime, timedelta, timezone

UNIX = datetime(1970, 1, 1, tzinfo=timezone.utc)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=timezone.utc)
DAY = timedelta(days=1)
RFC_4648 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

# Epoch, shard_bits, sequence_bits: those of docs/layouts.md, and the limits of a layout.
LAYOUTS = {
    "shardid": ("2011-08-24T21:07:01.721Z", 13, 10),
    "digoal": ("2012-01-01T00:00:00.000Z", 13, 10),
    "twitter": ("2010-11-04T01:42:54.657Z", 10, 12),
    "discord": ("2015-01-01T00:00:00.000Z", 10, 12),
    "pgedge": ("2023-01-01T00:00:00.000Z", 10, 12),
    "pgdog": ("2025-11-26T19:13:15.000Z", 10, 12),
    "pgdog-compact": ("2025-11-26T19:13:15.000Z", 6, 6),
    "redis-id-generator": ("1970-01-01T00:00:00.000Z", 12, 10),
    "for JavaScript": ("2011-08-24T21:07:01.721Z", 5, 7),
    "no shard": ("2026-01-01T00:00:00.000Z", 0, 12),
    "no sequence": ("2026-01-01T00:00:00.000Z", 16, 0),
    "shortest time": ("2026-01-01T00:00:00.000Z", 16, 16),
    "wide shard": ("2026-01-01T00:00:00.000Z", 31, 1),
    "wide sequence": ("2026-01-01T00:00:00.000Z", 1, 31),
    "old epoch": ("1900-01-01T00:00:00.001Z", 13, 10),
}

# The ids of docs/layouts.md.
PUBLISHED = [
    ("shardid", 4032112536055714817), ("shardid", 3597631270905977008), ("digoal", 9221321628057605849),
    ("twitter", 1541815603606036480), ("discord", 175928847299117063), ("redis-id-generator", 5981966696448054276),
]

DAYS = [
    ("shardid", "2011-08-24"), ("shardid", "2011-08-25"), ("shardid", "2026-11-23"), ("shardid", "2046-06-26"), ("shardid", "2046-06-27"),
    ("shardid", "2046-06-28"), ("shardid", "2081-04-29"), ("shardid", "2081-04-30"), ("twitter", "2022-06-28"), ("discord", "2016-04-30"),
    ("pgdog", "2026-02-28"), ("for JavaScript", "2024-02-29"), ("shortest time", "2026-01-25"), ("shortest time", "2026-02-19"),
    ("old epoch", "1969-07-20"),
]

UUIDS = [
    "c232ab00-9414-11ec-b3c8-9f6bdeced846", "1ec9414c-232a-6b00-b3c8-9f6bdeced846", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
    "00000000-0000-1000-8000-000000000000", "ffffffff-ffff-1fff-bfff-ffffffffffff", "13814000-1dd2-11b2-8000-010000000000",
    "00000001-0000-1000-8000-010000000000", "17ac9e02-5d2f-6fff-8000-010000000000",
    "00000000-0000-6000-8000-000000000000", "ffffffff-ffff-6fff-bfff-ffffffffffff", "1b21dd21-3814-6000-9234-0123456789ab",
    "00000000-0000-7000-8000-000000000000", "019aa2f0-1234-7fff-bfff-ffffffffffff", "e677d21f-dbff-7fff-bfff-ffffffffffff",
]

OBJECTIDS = ["000000000000000000000000", "507f1f77bcf86cd799439011", "6923a1d5ffffffffffffffff", "ffffffff0102030405ffffe7"]

REFUSED = [
    ("", "empty"), ("3FX7GZM70050", "12 characters"), ("3FX7GZM7005010", "14 characters"), ("3FX7GZM70050U", "U"),
    ("3FX7-GZM70050", "a hyphen"), ("3FX7GZM70050 ", "a space"), ("3FX7GZM70050\n", "a line's end"), ("+FX7GZM700501", "a sign"),
    ("G000000000000", "more than 64 bits"), ("ZZZZZZZZZZZZZ", "more than 64 bits"), ("3FX7GZM70050\u0131", "a letter that is i in upper case"),
    ("3FX7GZM7005\u0131", "the same, 13 bytes"), ("3FX7GZM70050\u017f", "a letter that is S in upper case"), ("3FX7GZM70050\uff10", "a zero that is not ASCII"),
    ("3FX7GZM70050_", "an underscore"),
]


def ms_since_1970(time):
    return (time - UNIX) // timedelta(milliseconds=1)


def iso(time):
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def signed(number):
    return number - 2 ** 64 if number >= 2 ** 63 else number


def text_of(number):
    """The text of a number: 16 digits of base 32 are 80 bits, the last 13 are the low 65."""
    digits = base64.b32encode(number.to_bytes(10, "big")).decode("ascii")[-13:]
    return digits.translate(str.maketrans(RFC_4648, CROCKFORD))


class Layout:
    def __init__(self, name):
        epoch, self.shard_bits, self.sequence_bits = LAYOUTS[name]
        self.name = name
        self.epoch = datetime.fromisoformat(epoch.replace("Z", "+00:00"))
        self.shift = self.shard_bits + self.sequence_bits

    def described(self):
        return {"epoch": iso(self.epoch), "epoch_ms": ms_since_1970(self.epoch), "shard_bits": self.shard_bits, "sequence_bits": self.sequence_bits}

    def vector(self, unsigned):
        ms, rest = divmod(unsigned, 2 ** self.shift)
        shard, sequence = divmod(rest, 2 ** self.sequence_bits)
        time = self.epoch + timedelta(milliseconds=ms)
        return {"layout": self.name, "id": str(signed(unsigned)), "unix_ms": ms_since_1970(time), "time": iso(time),
                "shard": shard, "sequence": sequence, "text": text_of(unsigned)}

    def times(self):
        """The first and last ids, both sides of the sign bit, and some between."""
        last = min(2 ** (64 - self.shift) - 1, (LAST - self.epoch) // timedelta(milliseconds=1))
        turn = 2 ** (63 - self.shift)
        return sorted({time for time in (0, 1, 86400000, 0x123456789AB % last, turn - 1, turn, last) if time <= last})

    def ids(self):
        shards, sequences = 2 ** self.shard_bits, 2 ** self.sequence_bits
        for time in self.times():
            for shard, sequence in ((0, 0), (5 % shards, sequences - 1), (shards - 1, 1 % sequences)):
                yield self.vector((time * shards + shard) * sequences + sequence)

    def lower_bound(self, time):
        """The smallest id from this time on; None after the end."""
        bound = max(0, (time - self.epoch) // timedelta(milliseconds=1)) * 2 ** self.shift
        return bound if bound < 2 ** 64 else None

    def day(self, text):
        """The condition for the ids of a day, which can begin with positive and end with negative ids."""
        begin = datetime.fromisoformat(text + "T00:00:00+00:00")
        lower, upper = signed(self.lower_bound(begin)), self.lower_bound(begin + DAY)
        last = 0 if upper is None else signed(upper)
        return {"layout": self.name, "day": text, "lower": str(lower), "upper": None if upper is None else str(last),
                "where": f"id >= {lower} AND id < {last}" if lower < last else f"(id >= {lower} OR id < {last})"}


def uuid_vector(text):
    """Version 6 has the digits of version 1's timestamp in order."""
    version, digits = text[14], text.replace("-", "")
    if version == "7":
        return {"uuid": text, "version": 7, "time": iso(UNIX + timedelta(milliseconds=int(digits[:12], 16)))}
    if version == "6":
        timestamp = digits[:12] + digits[13:16]
        as_version_1 = uuid.UUID(f"{timestamp[7:]}-{timestamp[3:7]}-1{timestamp[:3]}{text[18:]}")
    else:
        as_version_1 = uuid.UUID(text)
    time = datetime(1582, 10, 15) + timedelta(microseconds=as_version_1.time // 10)
    node = f"{as_version_1.node:012x}"
    return {"uuid": text, "version": int(version), "time": f"{time.isoformat(timespec='microseconds')}{as_version_1.time % 10}Z",
            "clock_seq": as_version_1.clock_seq, "node": ":".join(node[i:i + 2] for i in range(0, 12, 2))}


def objectid_vector(text):
    return {"objectid": text, "time": (UNIX + timedelta(seconds=int(text[:8], 16))).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "process": text[8:18], "counter": int(text[18:], 16)}


def main():
    layouts = {name: Layout(name) for name in LAYOUTS}
    parts = {
        "layouts": {name: layout.described() for name, layout in layouts.items()},
        "ids": [layouts[name].vector(number) for name, number in PUBLISHED] + [vector for layout in layouts.values() for vector in layout.ids()],
        "days": [layouts[name].day(day) for name, day in DAYS],
        "uuids": [uuid_vector(text) for text in UUIDS],
        "objectids": [objectid_vector(text) for text in OBJECTIDS],
        "refused": [{"text": text, "why": why} for text, why in REFUSED],
    }
    print("{" + ",\n".join(f'"{name}": {json.dumps(part)}' for name, part in parts.items()) + "}")


main()
