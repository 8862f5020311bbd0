# UUIDs of the first and of the last time, random ones, and what Python reads in them, as lines for COPY: UUID, time to
# the microsecond, the 100 ns within it, clock sequence, node; all NULL for a UUID of another version or variant.
# Python's uuid module reads version 1. It does not read versions 6 and 7 before Python 3.14: there the time is taken
# from the digits of the text, which are in order. Of version 7 a line has the UUID, its time in milliseconds since 1970,
# and the first UUID of that millisecond.
#     uuid_oracle.py VERSION COUNT SEED
import datetime
import random
import sys
import uuid

GREGORIAN = datetime.datetime(1582, 10, 15)


def time_of(value):
    return value.time if value.version == 1 else int(value.hex[:12] + value.hex[13:16], 16)


def row(value, version):
    if value.variant != uuid.RFC_4122 or value.version != version:
        return [str(value), r"\N", r"\N", r"\N", r"\N"]
    time = time_of(value)
    moment = GREGORIAN + datetime.timedelta(microseconds=time // 10)
    return [str(value), moment.isoformat(" "), time % 10, value.clock_seq, value.node.to_bytes(6, "big").hex()]


def row_of_v7(value):
    if value.variant != uuid.RFC_4122 or value.version != 7:
        return [str(value), r"\N", r"\N"]
    time = int(value.hex[:12], 16)
    return [str(value), time, uuid.UUID(int=time << 80 | 7 << 76 | 2 << 62)]


def random_uuid(source, version):
    digits = f"{source.getrandbits(128):032x}"
    if version:
        digits = digits[:12] + str(version) + digits[13:16] + source.choice("89ab") + digits[17:]
    return uuid.UUID(digits)


def with_time(time, version):
    digits = f"{time:015x}"
    if version == 1:
        return uuid.UUID(digits[7:] + digits[3:7] + "1" + digits[:3] + "8000" + 12 * "0")
    return uuid.UUID(digits[:12] + str(version) + digits[12:] + "8000" + 12 * "0")


version = int(sys.argv[1])
source = random.Random(int(sys.argv[3]))
values = [with_time(time, version) for time in (0, 2**60 - 1)]
values += [random_uuid(source, version if n % 10 else None) for n in range(int(sys.argv[2]) - len(values))]
for value in values:
    print(*(row_of_v7(value) if version == 7 else row(value, version)), sep="\t")
