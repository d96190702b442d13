package ui

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// output is where a view is drawn. It keeps the first error, which bubbletea
// ignores.
type output struct {
	to    io.Writer
	size  func() (width, height int)
	drawn chan struct{} // closed by the first write
	mu    struct {
		sync.Mutex
		written bool
		err     error
	}
}

func newOutput(to io.Writer) *output {
	return &output{to: to, drawn: make(chan struct{}), size: func() (int, int) {
		width, height := TerminalSize(to)
		if width <= 0 || height <= 0 {
			return usualWidth, 24
		}
		return width, height
	}}
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.err == nil {
		o.mu.err = err
	}
	if !o.mu.written {
		o.mu.written = true
		close(o.drawn)
	}
	return n, err
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.err
}

// file is an output from which bubbletea reads the size of the terminal.
type file interface {
	io.ReadWriteCloser
	Fd() uintptr
}

// terminal is an output that bubbletea recognizes as a terminal.
type terminal struct {
	file
	out *output
}

func (t terminal) Write(b []byte) (int, error) { return t.out.Write(b) }

// terminal returns the output as bubbletea needs it.
func (o *output) terminal() io.Writer {
	if f, ok := o.to.(*os.File); ok {
		return terminal{f, o}
	}
	return o
}

// TerminalSize returns the size of the terminal behind w, zeros if there is none. A writer
// that is no file may be a terminal with the method Size.
func TerminalSize(w io.Writer) (width, height int) {
	switch t := w.(type) {
	case *os.File:
		width, height, _ = term.GetSize(int(t.Fd())) // zeros with an error
	case interface{ Size() (width, height int) }:
		return t.Size()
	}
	return width, height
}
