# What Python reads and makes, as lines for COPY: python_oracle.py WHAT COUNT SEED
#     ids      id, its text, and the text as a person might type it: Crockford's base 32 by the base64 module, which has
#              RFC 4648's alphabet
#     texts    any text, and the id that it encodes or NULL
#     1, 6     UUID, time to the microsecond, the 100 ns within it, clock sequence, node; all NULL for a UUID of another
#              version or variant
#     7        UUID, its time in milliseconds since 1970, and the first UUID of that millisecond
# UUIDs are of the first and of the last time, and random ones. Python's uuid module reads version 1. It does not read
# versions 6 and 7 before Python 3.14: there the time is taken from the digits of the text, which are in order.
import base64
import datetime
import random
import sys
import uuid

RFC_4648 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SIZE = 13
LOOKS_LIKE = {"0": "0Oo", "1": "1IiLl"}
STRANGE = "uU-_ =*+/äßÖ０１Ａıſ€あ\u0130\u212a"
GREGORIAN = datetime.datetime(1582, 10, 15)


def signed(number):
    return number - 2 ** 64 if number >= 2 ** 63 else number


# 16 digits are 80 bits; the last 13 of them are the low 65.
def text_of(number):
    digits = base64.b32encode(number.to_bytes(10, "big")).decode("ascii")[-SIZE:]
    return digits.translate(str.maketrans(RFC_4648, CROCKFORD))


def number_of(text):
    plain = text.translate(str.maketrans("OoIiLl", "001111"))
    plain = "".join(c.upper() if "a" <= c <= "z" else c for c in plain)
    if len(plain) != SIZE or any(c not in CROCKFORD for c in plain):
        return None
    digits = "AAA" + plain.translate(str.maketrans(CROCKFORD, RFC_4648))
    number = int.from_bytes(base64.b32decode(digits), "big")
    return number if number < 2 ** 64 else None


def typed(source, text):
    return "".join(source.choice(LOOKS_LIKE.get(c, c + c.lower())) for c in text)


# Texts of 64 bits, some of 65, with up to two places changed or left out, or one digit more.
def any_text(source):
    text = typed(source, text_of(source.getrandbits(source.choice([64, 64, 65]))))
    for _ in range(source.choice([0, 0, 0, 1, 2])):
        place = source.randrange(len(text))
        text = text[:place] + source.choice(STRANGE + "0Zz") * source.randrange(2) + text[place + 1:]
    return text + source.choice(["", "", "", "", "", "0", "Z"])


def ids(source):
    number = source.getrandbits(64) >> source.randrange(64)
    return [signed(number), text_of(number), typed(source, text_of(number))]


def texts(source):
    text = any_text(source)
    number = number_of(text)
    return [text, r"\N" if number is None else signed(number)]


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


def uuids(version, count, source):
    first_and_last = [with_time(time, version) for time in (0, 2**60 - 1)]
    others = (random_uuid(source, version if n % 10 else None) for n in range(count - len(first_and_last)))
    return map(row_of_v7 if version == 7 else lambda value: row(value, version), [*first_and_last, *others])


what, size, seed = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
sys.stdout.reconfigure(encoding="utf-8")
made = uuids(int(what), size, seed) if what.isdigit() else ({"ids": ids, "texts": texts}[what](seed) for _ in range(size))
for values in made:
    print(*values, sep="\t")
