# What t/portable/public_ids.pl runs: the first line has the keys, as number=hexadecimal; each other one a request, in fields with a
# tab between: encode, the key's number, the kind, the id; or decode, nothing, the kind, the text. Kind and text are hexadecimal.
# A line answers each: text, id, null, or refused. The other drivers do the same.
import sys

sys.path.insert(0, "examples/public-ids")
from public_ids import PublicIds  # noqa: E402 pylint: disable=wrong-import-position

lines = sys.stdin.read().splitlines()
keys = {int(number): bytes.fromhex(master) for number, master in (key.split("=") for key in lines[0].split())}
for call, current, kind, value in (line.split("\t") for line in lines[1:]):
    kind = bytes.fromhex(kind).decode()
    if call == "encode":
        try:
            print(PublicIds(keys, int(current)).encode(kind, int(value)))
        except ValueError:
            print("refused")
    else:
        decoded = PublicIds(keys, None).decode(kind, bytes.fromhex(value).decode())
        print("null" if decoded is None else decoded)
