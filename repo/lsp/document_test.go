package lsp

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

// TestFields keeps fields.md as the tables of docs/config-fields.md.
func TestFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/config-fields.md")
	require.NoError(t, err)
	var rows strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") || strings.HasPrefix(line, "| Field") {
			rows.WriteString(line)
		}
	}
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile("fields.md", []byte(rows.String()), 0o644))
	}
	require.Equal(t, rows.String(), fieldTables)
	require.Greater(t, len(descriptions()), 150)
	require.Equal(t, "rows of a batch; 0: no batch dimension", descriptions()["max_batch_size"]["plain"])
}

func TestPositions(t *testing.T) {
	t.Parallel()
	for _, utf8 := range []bool{false, true} {
		d := &document{utf8: utf8}
		d.set(1, "a\u00f6\U0001f600b\r\n\nlast")
		for offset := range len(d.text) + 1 {
			if !strings.Contains("\u00f6\U0001f600\r\n", string(d.text[max(offset-1, 0):min(offset, len(d.text))])) || offset == 0 {
				require.Equal(t, offset, d.offset(d.position(offset)), "byte %d", offset)
			}
		}
		require.Equal(t, len(d.text), d.offset(position{9, 9}))
		require.Equal(t, 8, d.offset(position{0, 99}), "before the end of the line")
		require.Equal(t, 0, d.offset(position{-1, -1}))
	}
	d := &document{}
	d.set(1, "\u00f6\U0001f600b")
	require.Equal(t, position{0, 3}, d.position(6))
}

// TestEdits applies the edits between texts.
func TestEdits(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "a\n", "a\nb\nc\n", "a\nx\nc\n", "a\nb\nb\nc\n", "b\nc", "\n\n", "a\nb\nc"}
	for _, from := range texts {
		for _, to := range texts {
			d := &document{}
			d.set(1, from)
			got := from
			for _, e := range d.edits([]byte(to)) {
				got = from[:d.offset(e.Range.Start)] + e.NewText + from[d.offset(e.Range.End):]
			}
			require.Equal(t, to, got, "%q", from)
		}
	}
	d := &document{}
	d.set(1, "a\nb\nc\n")
	require.Equal(t, []textEdit{{span{position{1, 0}, position{2, 0}}, "x\n"}}, d.edits([]byte("a\nx\nc\n")))
}

// TestURIs goes from paths to URIs and back.
func TestURIs(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/a/b c/ö.pbtxt", "/100%/x#y?z"} {
		back, err := pathOf(uriOf(path))
		require.NoError(t, err)
		require.Equal(t, path, back)
	}
	for _, wrong := range []string{"untitled:1", "http://x/y", "file:", "%zz"} {
		_, err := pathOf(wrong)
		require.Error(t, err, wrong)
	}
}
