package ui

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// obeySequences has a console obey escape sequences, which older ones print
// otherwise, until restore.
func obeySequences(out io.Writer) (restore func()) {
	f, ok := out.(*os.File)
	if !ok {
		return func() {}
	}
	console := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(console, &mode) != nil ||
		windows.SetConsoleMode(console, mode|windows.ENABLE_PROCESSED_OUTPUT|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) != nil {
		return func() {}
	}
	return func() { _ = windows.SetConsoleMode(console, mode) }
}
