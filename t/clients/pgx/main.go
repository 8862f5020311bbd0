// Run by t/clients/drivers.pl: rows by pgx. The server is named by PGHOST, PGPORT and PGDATABASE.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/jackc/pgx/v4"
)

type order struct {
	ID       int64  `json:"id,string"`
	Customer string `json:"customer"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	check(err)

	var id int64
	err = conn.QueryRow(ctx, "INSERT INTO orders (customer) VALUES ($1) RETURNING id", "Ada").Scan(&id)
	check(err)
	fmt.Printf("created\t%d\n", id)
	fmt.Printf("type\t%T\n", id)

	var value interface{}
	check(conn.QueryRow(ctx, "SELECT id FROM orders WHERE customer = 'exact'").Scan(&value))
	fmt.Printf("scanned\t%T\n", value)
	fmt.Printf("exact\t%d\n", value)

	rows := [][]interface{}{{"Ada"}, {"Grace"}}
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"customer"}, pgx.CopyFromRows(rows))
	check(err)
	fmt.Printf("copied\t%d\n", copied)

	text, err := json.Marshal(order{value.(int64), "exact"})
	check(err)
	fmt.Printf("json\t%s\n", text)
	check(conn.Close(ctx))
}
