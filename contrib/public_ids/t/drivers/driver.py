# Run by contrib/public_ids/t/public_ids.pl. The first line of input has the keys, as number=hexadecimal; each other line is a
# request of fields separated by tabs: encode, the key's number, the kind, the id; or decode, an empty field, the kind,
# the text. Kind and text are hexadecimal. Prints a line for each request: text, id, null, or refused. The other
# drivers do the same.
import sys

sys.path.insert(0, "contrib/public_ids")
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
