# Crockford's base 32 by Python's base64 module, which has RFC 4648's alphabet: prints lines for COPY.
#     base32_oracle.py ids COUNT SEED      id, its text, and the text as a person might type it
#     base32_oracle.py texts COUNT SEED    any text, and the id that it encodes or NULL
import base64
import random
import sys

RFC_4648 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SIZE = 13
LOOKS_LIKE = {"0": "0Oo", "1": "1IiLl"}
STRANGE = "uU-_ =*+/äßÖ０１Ａıſ€あ\u0130\u212a"


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


sys.stdout.reconfigure(encoding="utf-8")
rows = {"ids": ids, "texts": texts}[sys.argv[1]]
random_source = random.Random(int(sys.argv[3]))
for _ in range(int(sys.argv[2])):
    print(*rows(random_source), sep="\t")
