"""Public ids as in contrib/public_ids/public_ids.sql, see contrib/public_ids/README.md.

Python's standard library has no AES: this needs the package cryptography (Debian: python3-cryptography).
"""
import hmac
import re

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
KIND = re.compile(r"[a-z][a-z0-9_]{0,62}", re.ASCII)
TEXT = re.compile(r"([a-z][a-z0-9_]{0,62})_([0-9a-hjkmnp-tv-z]{26})", re.ASCII)


class PublicIds:
    def __init__(self, keys, current):
        """The 32 bytes of each key by its number, and the number of the key for new texts."""
        self.keys, self.current = keys, current

    def _aes(self, number, kind):
        key = hmac.digest(self.keys[number], b"shardid public id 1:" + kind.encode(), "sha256")[:16]
        return Cipher(algorithms.AES(key), modes.ECB())

    def encode(self, kind, number):
        if not KIND.fullmatch(kind):
            raise ValueError(f"invalid kind of a public id: {kind!r}")
        block = self._aes(self.current, kind).encryptor().update(number.to_bytes(8, "big", signed=True) + bytes(8))
        bits = self.current << 128 | int.from_bytes(block, "big")
        return kind + "_" + "".join(ALPHABET[bits >> 5 * place & 31] for place in range(25, -1, -1))

    def decode(self, kind, text):
        """Returns None if the text is no public id of this kind."""
        match = TEXT.fullmatch(text)
        if not match or match[1] != kind:
            return None
        bits = 0
        for digit in match[2]:
            bits = bits << 5 | ALPHABET.index(digit)
        if bits >> 128 not in self.keys:
            return None
        plain = self._aes(bits >> 128, kind).decryptor().update((bits & (1 << 128) - 1).to_bytes(16, "big"))
        return int.from_bytes(plain[:8], "big", signed=True) if plain[8:] == bytes(8) else None
