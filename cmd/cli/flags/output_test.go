package flags_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

func TestOutputTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options flags.Output
		want    flags.OutputTargets
		fails   string
	}{
		{flags.Output{}, nil, ""},
		{flags.Output{Form: "json"}, flags.OutputTargets{{"json", "-"}}, ""},
		{flags.Output{Files: []string{"a.HTM"}}, flags.OutputTargets{{"html", "a.HTM"}}, ""},
		{flags.Output{Files: []string{"a.json", "dir/b.md", "-"}}, flags.OutputTargets{{"json", "a.json"}, {"markdown", "dir/b.md"}, {"text", "-"}}, ""},
		{flags.Output{Form: "csv", Files: []string{"a.dat"}}, flags.OutputTargets{{"csv", "a.dat"}}, ""},
		{flags.Output{Form: "csv", Files: []string{"a.json"}}, flags.OutputTargets{{"csv", "a.json"}}, ""},
		{flags.Output{Form: "csv", Files: []string{"-"}}, flags.OutputTargets{{"csv", "-"}}, ""},
		{flags.Output{Form: "out.json"}, flags.OutputTargets{{"json", "out.json"}}, ""},
		{flags.Output{Form: "./json", Files: []string{"x"}}, nil, "-o x: the extension names none of the forms text, json, csv, markdown, html: add --output"},
		{flags.Output{Form: "jsn"}, nil, `--output: unknown form "jsn": use one of text, json, csv, markdown, html, or -o for a file; did you mean "json"?`},
		{flags.Output{Form: "json", Files: []string{"a", "b"}}, nil, "--output names one form, but -o is given several times: leave it out, the extensions name the forms"},
		{flags.Output{Files: []string{"a.json", "a.json"}}, nil, "-o a.json: the file is named twice"},
		{flags.Output{Files: []string{""}, Form: "json"}, nil, "-o: the name of the file is empty"},
	} {
		got, err := c.options.Targets(flags.Forms())
		if c.fails != "" {
			require.EqualError(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestOutputWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	targets := flags.OutputTargets{{"json", "-"}, {"markdown", file}}
	require.True(t, targets.Stdout())
	require.False(t, targets[1:].Stdout())
	require.NoError(t, targets.Check())
	require.NoFileExists(t, file, "Check leaves nothing")
	var out bytes.Buffer
	name := func(w io.Writer, form string) error {
		_, err := io.WriteString(w, form)
		return err
	}
	require.NoError(t, targets.Write(process.Process{Stdout: &out}, name))
	require.Equal(t, "json", out.String())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "markdown", string(text))

	broken := flags.OutputTargets{{"json", filepath.Join(dir, "no", "a.json")}, {"json", dir}}
	require.ErrorContains(t, broken.Check(), "no such file or directory")
	require.ErrorContains(t, broken.Check(), dir+": it is a folder")
	require.ErrorContains(t, broken.Write(process.Process{}, name), "write the result: open ")
}
