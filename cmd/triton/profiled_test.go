package main_test

import (
	"net/http"
	_ "net/http/pprof" // counts the goroutines of the server

	"triton/cmd/cli"
	"triton/cmd/cli/process"
)

// profileVariable makes this program the server, with net/http/pprof at the address that it
// contains.
const profileVariable = "TRITON_CHAOS_PROFILE"

// serveProfiled is the server of TestChaos: the program itself, with profiles.
func serveProfiled(address string) int {
	go func() { _ = http.ListenAndServe(address, nil) }()
	return cli.Main(process.OS("test", ""))
}
