package ui_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/pkg/ui"
)

type broken struct{}

func (broken) Draw(int, int) string { return "view" }
func (broken) Key(string) bool      { panic("a defect") }

// TestFullPanic: the terminal is usable after a panic of the view.
func TestFullPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := sharedtest.NewScreen(40, 5)
		_, err := terminal.Write([]byte("$ top\r\n"))
		require.NoError(t, err)
		in, keys := io.Pipe()
		go func() { _, _ = keys.Write([]byte("x")) }()
		require.Error(t, ui.ShowFull(t.Context(), in, terminal, time.Second, broken{}))
		_ = keys.Close()
		time.Sleep(time.Minute) // timers of the view
		require.Contains(t, terminal.String(), "$ top")
		require.NotContains(t, terminal.String(), "view")
	})
}
