// Package clitest runs whole command lines in the process of a test.
package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli"
	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
)

// Command is a command line that runs.
type Command struct {
	Stdout, Stderr sharedtest.LogBuffer
	Signals        chan os.Signal
	Exit           chan int // gets the exit code
	// CompletionTime is how long completions wait for a server.
	CompletionTime time.Duration
}

// New returns a command that has not been started.
func New() *Command {
	return &Command{Signals: make(chan os.Signal, 2), Exit: make(chan int, 1)}
}

// Start runs triton with args in the background.
func (c *Command) Start(environ []string, args ...string) *Command {
	go func() { c.Exit <- c.main(environ, append([]string{"triton"}, args...)) }()
	return c
}

func (c *Command) main(environ, args []string) int {
	return cli.Main(process.Process{
		Args: args, Environ: environ, Version: "1.2.3",
		Stdout: &c.Stdout, Stderr: &c.Stderr, CompletionTime: c.CompletionTime,
		Signals: func() (<-chan os.Signal, func()) { return c.Signals, func() {} },
	})
}

// Wait returns the exit code of a started command and what it has written. A command
// that does not end by itself fails the test.
func (c *Command) Wait(t *testing.T) (code int, out, errs string) {
	t.Helper()
	select {
	case code = <-c.Exit:
	case <-time.After(time.Minute):
		c.Signals <- syscall.SIGTERM
		t.Fatalf("the command did not end:\n%s", c.Stdout.String())
	}
	return code, c.Stdout.String(), c.Stderr.String()
}

// Printed waits until a started command has written a text to its standard output.
func (c *Command) Printed(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(c.Stdout.String(), text) || len(c.Exit) > 0 }, time.Minute, 2*time.Millisecond)
	require.Empty(t, c.Exit, "the command ended: %s", &c.Stderr)
}

// Run runs triton with args and returns when it has ended.
func Run(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	return New().Start(environ, args...).Wait(t)
}

// RunAs is Run for the program under another name.
func RunAs(t *testing.T, name string, args ...string) (code int, out, errs string) {
	t.Helper()
	c := New()
	c.Exit <- c.main(nil, append([]string{name}, args...))
	return c.Wait(t)
}

const identity = `backend: "identity"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
`

// Models returns a model repository with the identity model m.
func Models(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "m", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "config.pbtxt"), []byte(identity), 0o644))
	return dir
}
