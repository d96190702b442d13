// Package process is the interface of commands to the operating system: arguments,
// environment, streams, signals and exit codes.
package process

import (
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Process is everything that a command gets from the operating system, so that tests can
// run whole commands without starting a program.
type Process struct {
	Args    []string // with the program name first
	Environ []string // "KEY=value"; the last value of a key counts
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// StdoutTerminal reports whether Stdout is a terminal that can be drawn on.
	StdoutTerminal bool
	// StderrTerminal reports whether Stderr is a terminal.
	StderrTerminal bool
	// Signals delivers SIGINT and SIGTERM until stop is called.
	Signals func() (c <-chan os.Signal, stop func())
	// Hangups delivers SIGHUP until stop is called; nil where a command gets none. Without a call
	// the signal ends the process.
	Hangups func() (c <-chan os.Signal, stop func())
	// IgnoreBrokenPipe keeps the process alive when the reader of its output closes the
	// pipe; nil on systems without such a signal.
	IgnoreBrokenPipe func()
	// CompletionTime is how long the completion of a line waits for a server; 0: a second.
	CompletionTime time.Duration
	Version        string
	Commit         string
}

// OS returns the process that runs this program. An empty version or commit is replaced by
// the one that the Go toolchain recorded.
func OS(version, commit string) Process {
	if version == "" {
		version = "devel"
		if info, ok := debug.ReadBuildInfo(); ok {
			if v := info.Main.Version; v != "" && v != "(devel)" {
				version = v
			}
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" && commit == "" {
					commit = s.Value
				}
			}
		}
	}
	return Process{
		Args:    os.Args,
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		// On a dumb terminal the cursor does not move.
		StdoutTerminal:   term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb",
		StderrTerminal:   term.IsTerminal(int(os.Stderr.Fd())),
		Signals:          subscribe(os.Interrupt, syscall.SIGTERM),
		Hangups:          subscribe(syscall.SIGHUP),
		IgnoreBrokenPipe: func() { signal.Ignore(syscall.SIGPIPE) },
		Version:          version,
		Commit:           commit,
	}
}

func subscribe(signals ...os.Signal) func() (<-chan os.Signal, func()) {
	return func() (<-chan os.Signal, func()) {
		c := make(chan os.Signal, 4)
		signal.Notify(c, signals...)
		return c, func() { signal.Stop(c) }
	}
}

// Getenv returns the value of an environment variable, empty when it is not set.
func (p Process) Getenv(key string) string {
	v, _ := p.LookupEnv(key)
	return v
}

// LookupEnv returns the value of an environment variable and reports whether it
// is set.
func (p Process) LookupEnv(key string) (value string, set bool) {
	for i := len(p.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(p.Environ[i], "="); ok && k == key {
			return v, true
		}
	}
	return "", false
}
