# What Python's uuid module reads in the UUIDs on standard input, one per line, as lines for COPY: UUID, version,
# variant, time to the microsecond, whether the node has the multicast bit, node.
import datetime
import sys
import uuid

GREGORIAN = datetime.datetime(1582, 10, 15)

for line in sys.stdin:
    value = uuid.UUID(line.strip())
    time = GREGORIAN + datetime.timedelta(microseconds=value.time // 10)
    is_multicast = value.node >> 40 & 1
    print(value, value.version, value.variant, time.isoformat(" "), is_multicast, f"{value.node:012x}", sep="\t")
