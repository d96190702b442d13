package output_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/output"
	"triton/cmd/cli/process"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options output.Options
		want    output.Targets
		fails   string
	}{
		{output.Options{}, nil, ""},
		{output.Options{Form: "json"}, output.Targets{{"json", "-"}}, ""},
		{output.Options{Files: []string{"a.HTM"}}, output.Targets{{"html", "a.HTM"}}, ""},
		{output.Options{Files: []string{"a.json", "dir/b.md", "-"}}, output.Targets{{"json", "a.json"}, {"markdown", "dir/b.md"}, {"text", "-"}}, ""},
		{output.Options{Form: "csv", Files: []string{"a.dat"}}, output.Targets{{"csv", "a.dat"}}, ""},
		{output.Options{Form: "csv", Files: []string{"a.json"}}, output.Targets{{"csv", "a.json"}}, ""},
		{output.Options{Form: "csv", Files: []string{"-"}}, output.Targets{{"csv", "-"}}, ""},
		{output.Options{Form: "out.json"}, output.Targets{{"json", "out.json"}}, ""},
		{output.Options{Form: "./json", Files: []string{"x"}}, nil, "-o x: the extension names none of the forms text, json, csv, markdown, html: add --output"},
		{output.Options{Form: "jsn"}, nil, `--output: unknown form "jsn": use one of text, json, csv, markdown, html, or -o for a file; did you mean "json"?`},
		{output.Options{Form: "json", Files: []string{"a", "b"}}, nil, "--output names one form, but -o is given several times: leave it out, the extensions name the forms"},
		{output.Options{Files: []string{"a.json", "a.json"}}, nil, "-o a.json: the file is named twice"},
		{output.Options{Files: []string{""}, Form: "json"}, nil, "-o: the name of the file is empty"},
	} {
		got, err := c.options.Targets(output.Forms())
		if c.fails != "" {
			require.EqualError(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	targets := output.Targets{{"json", "-"}, {"markdown", file}}
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

	broken := output.Targets{{"json", filepath.Join(dir, "no", "a.json")}, {"json", dir}}
	require.ErrorContains(t, broken.Check(), "no such file or directory")
	require.ErrorContains(t, broken.Check(), dir+": it is a folder")
	require.ErrorContains(t, broken.Write(process.Process{}, name), "write the result: open ")
}
