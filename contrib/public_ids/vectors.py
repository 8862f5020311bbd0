#!/usr/bin/env python3
"""Prints vectors.json, by HMAC of Python and AES of the command openssl: vectors.py > vectors.json

The format is in contrib/public_ids/README.md. Neither PostgreSQL nor the encoders here are used.
"""
import hashlib
import hmac
import json
import subprocess

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
# There is no key with number 3.
MASTERS = [bytes(range(32)), bytes(range(255, 223, -1)), hashlib.sha256(b"shardid public id vectors").digest()]
KINDS = ["order", "a", "order_item", "x9__", "k" * 63]
IDS = [0, 1, -1, 2**63 - 1, -2**63, 4032112536055714817, 2**53 + 1, -4032112536055714817]
# Most texts of "refused" are changed texts of this kind and id, with each key.
KIND, ID = "order", 4032112536055714817


def aes128(key, block):
    return subprocess.run(["openssl", "enc", "-aes-128-ecb", "-nopad", "-K", key.hex()],
                          input=block, capture_output=True, check=True).stdout


def text_of_bits(kind, bits):
    return kind + "_" + "".join(ALPHABET[bits >> 5 * place & 31] for place in reversed(range(26)))


def text_of(kind, number, plain, master=None):
    key = hmac.digest(master or MASTERS[number], b"shardid public id 1:" + kind.encode(), "sha256")[:16]
    return text_of_bits(kind, number << 128 | int.from_bytes(aes128(key, plain), "big"))


def public_id(kind, number, number_of_id):
    return text_of(kind, number, number_of_id.to_bytes(8, "big", signed=True) + bytes(8))


def with_character(text, place, character=None):
    """The text with another character in this place, by default the next of the alphabet."""
    character = character or ALPHABET[(ALPHABET.index(text[place]) + 1) % 32]
    return text[:place] + character + text[place:][1:]


def refused():
    text = public_id(KIND, 0, ID)
    digits = text[-26:]
    yield from ((KIND, with_character(text, place), "a character is changed") for place in range(6, 32))
    yield KIND, with_character(text, 6, ALPHABET[ALPHABET.index(text[6]) ^ 8]), "the number is that of another key"
    yield KIND, with_character(text, 6, ALPHABET[ALPHABET.index(text[6]) | 24]), "no key has this number"
    yield KIND, text_of(KIND, 3, ID.to_bytes(8, "big") + bytes(8), bytes(32)), "no key has this number"
    yield KIND, text_of(KIND, 0, ID.to_bytes(8, "big") + bytes(8), bytes(32)), "made with another master"
    yield KIND, text_of(KIND, 0, ID.to_bytes(8, "big") + bytes(7) + b"\x01"), "the last byte is not zero"
    yield KIND, text_of(KIND, 0, ID.to_bytes(8, "big") + b"\x80" + bytes(7)), "the ninth byte is not zero"
    yield KIND, text_of(KIND, 0, bytes(8) + ID.to_bytes(8, "big")), "the halves are exchanged"
    yield KIND, text_of_bits(KIND, 0), "made up"
    yield KIND, text_of_bits(KIND, (1 << 130) - 1), "made up"
    yield "user", text, "another kind"
    yield "user", "user_" + digits, "another kind, and the text says so"
    yield KIND, "user_" + digits, "the text says another kind"
    yield "orde", text, "another kind"
    yield KIND, "order_item_" + public_id("order_item", 0, ID)[-26:], "another kind"
    yield "order_item", public_id(KIND, 0, ID), "another kind"
    yield KIND, digits, "no kind"
    yield KIND, "_" + digits, "no kind"
    yield KIND, KIND + digits, "no underscore"
    yield KIND, KIND + "-" + digits, "no underscore"
    yield KIND, text[:-1], "25 characters"
    yield KIND, text + "0", "27 characters"
    yield KIND, KIND + "_0" + digits, "27 characters"
    yield KIND, KIND + "_", "nothing but the kind"
    yield KIND, "", "empty"
    yield KIND, text.upper(), "upper case"
    yield KIND, KIND + "_" + digits.upper(), "upper case"
    yield KIND, "Order_" + digits, "upper case"
    # Characters that other readers accept as 0, 1, s or nothing; this text has all three.
    zero = public_id(KIND, 0, 0)
    for character, others in {"0": "oO-\u0660\uff10", "1": "iIlL\u0661\uff11", "s": "S\u017f", "w": "u"}.items():
        yield from ((KIND, zero[:6] + zero[6:].replace(character, other), "a character is not in the alphabet") for other in others)
    yield KIND, zero[:19] + "-" + zero[19:], "a hyphen"
    yield KIND, text + "\n", "a line feed"
    yield KIND, text + " ", "a space"
    yield KIND, " " + text, "a space"
    yield KIND, "x\n" + text, "two lines"
    for kind in ("Order", "9order", "_order", "or-der", "", "k" * 64, "\u00f6rder"):
        yield kind, text_of(kind, 0, ID.to_bytes(8, "big") + bytes(8)), "no kind has such a name"


def main():
    # FIPS 197, C.1, and RFC 4231, test case 2.
    assert aes128(bytes(range(16)), bytes.fromhex("00112233445566778899aabbccddeeff")).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    assert hmac.digest(b"Jefe", b"what do ya want for nothing?", "sha256").hex().startswith("5bdcc146bf60754e6a042426089575c7")
    keys = [{"number": number, "master": master.hex()} for number, master in enumerate(MASTERS)]
    vectors = [{"kind": kind, "key": number, "id": str(of), "text": public_id(kind, number, of)}
               for kind in KINDS for number in range(len(MASTERS)) for of in IDS]
    wrong = [{"kind": kind, "text": text, "why": why} for kind, text, why in refused()]
    parts = {"keys": keys, "vectors": vectors, "refused": wrong}
    print("{" + ",\n".join(f'"{name}": {json.dumps(part)}' for name, part in parts.items()) + "}")


main()
