// Public ids as in contrib/public_ids/public_ids.sql, see contrib/public_ids/README.md.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

var (
	kinds = regexp.MustCompile(`\A[a-z][a-z0-9_]{0,62}\z`)
	texts = regexp.MustCompile(`\A([a-z][a-z0-9_]{0,62})_([0-9a-hjkmnp-tv-z]{26})\z`)
)

// PublicIDs has the 32 bytes of each key by its number, and the number of the key for new texts.
type PublicIDs struct {
	Keys    map[int][]byte
	Current int
}

func (p PublicIDs) aes(number int, kind string) (cipher.Block, error) {
	mac := hmac.New(sha256.New, p.Keys[number])
	mac.Write([]byte("shardid public id 1:" + kind))
	return aes.NewCipher(mac.Sum(nil)[:16])
}

func (p PublicIDs) Encode(kind string, id int64) (string, error) {
	if !kinds.MatchString(kind) || p.Keys[p.Current] == nil {
		return "", fmt.Errorf("invalid kind of a public id, or no key: %q", kind)
	}
	block, err := p.aes(p.Current, kind)
	if err != nil {
		return "", err
	}
	packed := make([]byte, 17)
	packed[0] = byte(p.Current)
	binary.BigEndian.PutUint64(packed[1:], uint64(id))
	block.Encrypt(packed[1:], packed[1:])
	bits, digits := new(big.Int).SetBytes(packed), make([]byte, 26)
	for place := range digits {
		digits[place] = alphabet[new(big.Int).Rsh(bits, uint(125-5*place)).Uint64()&31]
	}
	return kind + "_" + string(digits), nil
}

// Decode returns false if the text is no public id of this kind.
func (p PublicIDs) Decode(kind, text string) (int64, bool) {
	match := texts.FindStringSubmatch(text)
	if match == nil || match[1] != kind {
		return 0, false
	}
	bits := new(big.Int)
	for _, digit := range match[2] {
		bits.Lsh(bits, 5).Or(bits, big.NewInt(int64(strings.IndexRune(alphabet, digit))))
	}
	packed := bits.FillBytes(make([]byte, 17))
	block, err := p.aes(int(packed[0]), kind)
	if p.Keys[int(packed[0])] == nil || err != nil {
		return 0, false
	}
	block.Decrypt(packed[1:], packed[1:])
	return int64(binary.BigEndian.Uint64(packed[1:])), binary.BigEndian.Uint64(packed[9:]) == 0
}
