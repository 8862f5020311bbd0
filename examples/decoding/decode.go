// The parts of an id, and the id of a text. As a program it does the same as decode.py.
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func decode(id int64, epoch time.Time, shardBits, sequenceBits uint) (t time.Time, shard, sequence uint64) {
	bits := uint64(id) // ids of later years are negative
	t = time.UnixMilli(epoch.UnixMilli() + int64(bits>>(shardBits+sequenceBits))).UTC()
	return t, bits >> sequenceBits & (1<<shardBits - 1), bits & (1<<sequenceBits - 1)
}

var textOfID = regexp.MustCompile("^[0-9A-Fa-fILOilo][0-9A-TV-Za-tv-z]{12}$")
var base32 = strings.NewReplacer(strings.Split("O0I1L1JIKJMKNLPMQNROSPTQVRWSXTYUZV", "")...)

func idFromText(text string) (int64, error) {
	if !textOfID.MatchString(text) {
		return 0, fmt.Errorf("not the text of an id: %q", text)
	}
	id, err := strconv.ParseUint(base32.Replace(strings.ToUpper(text)), 32, 64)
	return int64(id), err
}

func answer(words []string) string {
	if words[0] == "text" {
		id, err := idFromText(words[1])
		if err != nil {
			return "refused"
		}
		return fmt.Sprint(id)
	}
	epoch, err := time.Parse(time.RFC3339Nano, words[1])
	var shardBits, sequenceBits uint
	var id int64
	if err == nil {
		_, err = fmt.Sscan(strings.Join(words[2:], " "), &shardBits, &sequenceBits, &id)
	}
	if err != nil {
		panic(err)
	}
	t, shard, sequence := decode(id, epoch, shardBits, sequenceBits)
	return fmt.Sprintf("%s\t%d\t%d", t.Format("2006-01-02T15:04:05.000Z"), shard, sequence)
}

func main() {
	for questions := bufio.NewScanner(os.Stdin); questions.Scan(); {
		fmt.Println(answer(strings.Split(questions.Text(), "\t")))
	}
}
