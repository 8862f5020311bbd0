# Random UUIDs and what Python's uuid module reads in them, as lines for COPY: UUID, time to the microsecond,
# the 100 ns within it, clock sequence, node; all NULL for what is not version 1 of the RFC's variant.
#     uuid_oracle.py COUNT SEED
import datetime
import random
import sys
import uuid

GREGORIAN = datetime.datetime(1582, 10, 15)


def row(value):
    if value.variant != uuid.RFC_4122 or value.version != 1:
        return [str(value), r"\N", r"\N", r"\N", r"\N"]
    time = GREGORIAN + datetime.timedelta(microseconds=value.time // 10)
    return [str(value), time.isoformat(" "), value.time % 10, value.clock_seq,
            value.node.to_bytes(6, "big").hex()]


def random_uuid(source, of_version_1):
    bits = source.getrandbits(128)
    return uuid.UUID(int=bits, version=1) if of_version_1 else uuid.UUID(int=bits)


source = random.Random(int(sys.argv[2]))
for n in range(int(sys.argv[1])):
    print(*row(random_uuid(source, n % 10 != 0)), sep="\t")
