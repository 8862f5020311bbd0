# Random UUIDs and what Python reads in them, as lines for COPY: UUID, time to the microsecond, the 100 ns within it,
# clock sequence, node; all NULL for a UUID of another version or variant. Python's uuid module reads version 1. It does
# not read version 6 before Python 3.14: there the time is taken from the digits of the text, which are in order.
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


def random_uuid(source, version):
    digits = f"{source.getrandbits(128):032x}"
    if version:
        digits = digits[:12] + str(version) + digits[13:16] + source.choice("89ab") + digits[17:]
    return uuid.UUID(digits)


version = int(sys.argv[1])
source = random.Random(int(sys.argv[3]))
for n in range(int(sys.argv[2])):
    print(*row(random_uuid(source, version if n % 10 else None), version), sep="\t")
