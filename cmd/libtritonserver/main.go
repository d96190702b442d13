// Command libtritonserver is the server as a C library: `make libtritonserver` links it as
// libtritonserver.so, whose functions are in server/capi/include/triton/core/tritonserver.h. There
// is no program.
package main

import (
	"os"

	"triton/pkg/log"
	"triton/server/capi"
	"triton/server/capi/inprocess"
)

// version is set by the linker (see the Makefile).
var version string

// init runs when a program loads the library.
func init() {
	l := &library{version: version, getenv: os.Getenv}
	sink, err := log.Open(log.DefaultSettings(), os.Stderr, os.Stderr)
	if err == nil { // only a log file can fail to open, and these settings name none
		l.sink, l.log = sink, sink.Logger()
		capi.SetLog(l.log, sink)
	}
	inprocess.Provide(inprocess.Starter{Start: l.start, Log: l.setLog})
}

func main() {}
