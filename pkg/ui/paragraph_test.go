package ui_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/ui"
)

func TestParagraph(t *testing.T) {
	t.Parallel()
	const text = "  why: more instances lower the throughput, by 5.1 %, see /a/path/that-is/not-broken at all"
	small := &screen{width: 30}
	require.NoError(t, ui.Paragraph(small, text))
	require.Equal(t, `  why: more instances lower
    the throughput, by 5.1 %,
    see
    /a/path/that-is/not-broken
    at all
`, small.String())
	var file bytes.Buffer
	require.NoError(t, ui.Paragraph(&file, text))
	require.Equal(t, `  why: more instances lower the throughput, by 5.1 %, see
    /a/path/that-is/not-broken at all
`, file.String(), "80 columns without a terminal")
	require.NoError(t, ui.Paragraph(&file, ""))
	require.Equal(t, "\n", file.String()[len(file.String())-1:])
}
