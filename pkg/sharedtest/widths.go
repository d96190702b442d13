package sharedtest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// columns is a terminal of a width that keeps what is written.
type columns struct {
	bytes.Buffer
	width int
}

// Size returns the columns and the rows of the terminal.
func (c *columns) Size() (width, height int) { return c.width, 24 }

// GoldenWidths compares what terminals of 60, 80, 120 and 200 columns show of a text with a file below testdata/widths.
// No line is wider than its terminal. Without a terminal the text is that of 80 columns.
func GoldenWidths(t testing.TB, name string, write func(w io.Writer) error) {
	t.Helper()
	var all strings.Builder
	for _, width := range []int{60, 80, 120, 200} {
		c := &columns{width: width}
		require.NoError(t, write(c))
		for line := range strings.Lines(c.String()) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, "%s at %d columns: %s", name, width, line)
		}
		fmt.Fprintf(&all, "== %d columns\n%s", width, c.String())
		if width == 80 {
			var file bytes.Buffer
			require.NoError(t, write(&file))
			require.Equal(t, c.String(), file.String(), "%s without a terminal", name)
		}
	}
	GoldenFile(t, "widths/"+name+".txt", all.String())
}
