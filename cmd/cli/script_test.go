package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"triton/cmd/cli"
	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
)

// TestMain makes the test program act as triton, tritonserver and serve in
// scripts.
func TestMain(m *testing.M) {
	program := func() { os.Exit(cli.Main(process.OS("1.2.3", "0123abc"))) }
	testscript.Main(m, map[string]func(){"triton": program, "tritonserver": program, "serve": program})
}

// TestScripts runs testdata/script/*.txtar of the repository's root: whole
// command lines, with files in and out. Besides the commands of testscript there
// is "exits CODE PROGRAM ARGS...".
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "../../testdata/script",
		UpdateScripts: sharedtest.UpdateGolden(),
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits checks the exit code of a program.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v exits with %d, want %d", args[1:], got, want)
	}
}
