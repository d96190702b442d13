// Package cli is the command line: the cobra tree, flags, environment and config
// file, streams, signals and exit codes, and the wiring of the four tools, which
// do not know each other. It holds no behavior of its own.
package cli

import (
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// World is everything that the process takes from the outside, so that tests
// run whole commands in process.
type World struct {
	Args    []string // with the program name first
	Environ []string // "KEY=value"
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// Terminal says whether Stdout is a terminal that can be drawn on.
	Terminal bool
	// NotesTerminal says whether Stderr is a terminal.
	NotesTerminal bool
	// Signals delivers interrupt and termination requests until stop is called.
	Signals func() (c <-chan os.Signal, stop func())
	// OutliveReaders lets the process go on when nobody reads its output any more;
	// nil: it does so anyway.
	OutliveReaders func()
	Version        string
	Commit         string
}

// OS is the real world. Without a stamped version the one that the Go toolchain
// recorded is used.
func OS(version, commit string) World {
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
	return World{
		Args:    os.Args,
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		// On a dumb terminal the cursor does not move.
		Terminal:      term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb",
		NotesTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Signals: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 4)
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			return c, func() { signal.Stop(c) }
		},
		OutliveReaders: func() { signal.Ignore(syscall.SIGPIPE) },
		Version:        version,
		Commit:         commit,
	}
}

// Getenv looks a variable up in the world's environment.
func (w World) Getenv(key string) string {
	v, _ := w.lookup(key)
	return v
}

// lookup is Getenv for a variable that may be set and empty.
func (w World) lookup(key string) (value string, set bool) {
	for i := len(w.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(w.Environ[i], "="); ok && k == key {
			return v, true
		}
	}
	return "", false
}
