// The same as driver.py.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func bytesOf(text string) []byte {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return bytes
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	keys := map[int][]byte{}
	for _, key := range strings.Fields(lines.Text()) {
		number, _ := strconv.Atoi(key[:1])
		keys[number] = bytesOf(key[2:])
	}
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		current, _ := strconv.Atoi(fields[1])
		ids, kind := PublicIDs{keys, current}, string(bytesOf(fields[2]))
		if fields[0] == "encode" {
			id, err := strconv.ParseInt(fields[3], 10, 64)
			if err != nil {
				panic(err)
			}
			if text, err := ids.Encode(kind, id); err == nil {
				fmt.Println(text)
			} else {
				fmt.Println("refused")
			}
		} else if id, found := ids.Decode(kind, string(bytesOf(fields[3]))); found {
			fmt.Println(id)
		} else {
			fmt.Println("null")
		}
	}
}
