// Command generator measures what the load generator of `triton perf` costs and how many requests
// per second it sends, against a server in another process that answers with fixed bytes.
//
//	generator serve                                          # prints its two addresses
//	generator load -address 127.0.0.1:1234 -protocol grpc -concurrency 64
//	generator floor -address 127.0.0.1:1234                  # the least that a client can cost
package main

import (
	"errors"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("generator: ")
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "serve":
		err = serve()
	case len(os.Args) > 1 && os.Args[1] == "load":
		err = load(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "floor":
		err = floor(os.Args[2:])
	default:
		err = errors.New("usage: generator serve | load [flags] | floor [flags]")
	}
	if err != nil {
		log.Fatal(err)
	}
}
