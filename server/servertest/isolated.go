package servertest

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"triton/server"
	"triton/server/backend"
	"triton/server/backend/isolated/host"
	"triton/server/backend/onnx"
)

// isolatedModel is the first argument of a test's program that runs one model for the test. It is not that of triton,
// whose tests are such a program, too.
const isolatedModel = "isolated-model-of-a-test"

// IsolationVariable names the environment variable that, set to "process", isolates the models
// of all servers of this package. So the tests of other packages also test isolation.
const IsolationVariable = "TRITON_TEST_ISOLATION"

// init makes each program that imports this package one that runs isolated models.
func init() {
	if len(os.Args) < 3 || os.Args[1] != isolatedModel {
		return
	}
	code := 0
	if err := host.Main(os.Args[2], os.Environ(), backends()); err != nil { //nolint:forbidigo // the program of a test
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // the program of a test
}

// Isolation is the program of isolated models of a test. With all, all models are isolated.
func Isolation(all bool) server.Isolation {
	return server.Isolation{All: all, Program: []string{"/proc/self/exe", isolatedModel}}
}

// NeedsInProcess skips a test of what isolated models do otherwise.
func NeedsInProcess(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(IsolationVariable) == "process" { //nolint:forbidigo // the lane of a test run
		t.Skip("isolated models: " + why)
	}
}

func backends() backend.Set {
	return server.NewBackends(onnx.Search{
		Getenv:    os.Getenv, //nolint:forbidigo // the environment names the library
		Directory: root(),
	})
}

// isolate isolates the models of a server if the environment says so, except those of backends
// that the test defines.
func isolate(o *server.Options) {
	o.Isolation.Program = Isolation(false).Program
	if os.Getenv(IsolationVariable) != "process" { //nolint:forbidigo // the lane of a test run
		return
	}
	o.Isolation.All = true
	known := backends()
	for name, b := range o.Backends {
		if reflect.TypeOf(known[name]) != reflect.TypeOf(b) {
			o.Backends[name] = ofTest{b}
		}
	}
}

// ofTest is a backend that only the test's own process has.
type ofTest struct{ backend.Backend }

// OwnsProcesses keeps it out of isolation.
func (ofTest) OwnsProcesses() {}
