package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFiles: every file is read and written the same, and a reason is given only
// where our answer differs.
func TestFiles(t *testing.T) {
	t.Parallel()
	suites, err := Suites()
	require.NoError(t, err)
	require.NotEmpty(t, suites)
	for _, s := range suites {
		text, err := files.ReadFile("testdata/" + s.Name + ".txt")
		require.NoError(t, err)
		require.Equal(t, string(text), Format(s, Head(string(text))), s.Name)
		require.NotEmpty(t, s.Cases, s.Name)
		for _, c := range s.Cases {
			require.NotEmpty(t, c.Steps, "%s: %s", s.Name, c.Name)
			for _, st := range c.Steps {
				require.NotEmpty(t, st.Answer, st.Where(s))
				require.Equal(t, st.Reason != "", st.Ours != "", st.Where(s))
				require.NotEqual(t, st.Answer, st.Ours, st.Where(s))
			}
		}
	}
}

// TestWrongFiles: the error of a wrong file names the line.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no setting":              "line 1: ",
		"a: b\n## c\n< 200":       "line 3: ",
		"## c\n> http GET /\n? x": "line 3: ",
	} {
		_, err := Parse("x", text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestExpecting: the time limit of a question is for servers that do not answer it.
func TestExpecting(t *testing.T) {
	t.Parallel()
	s := &Step{Line: 7, Ask: []string{"within 400ms: http GET /", "", "x"}}
	require.Same(t, s, s.Expecting("200\n"+noAnswer))
	require.Equal(t, &Step{Line: 7, Ask: []string{"http GET /", "", "x"}}, s.Expecting("200\n"))
	require.Equal(t, "within 400ms: http GET /", s.Ask[0], "the file keeps it")
	wrong := &Step{Ask: []string{"within x: http GET /"}}
	require.Same(t, wrong, wrong.Expecting("200\n"))
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	for text, escaped := range map[string]string{
		"a\\b\r\n":  `a\\b\x0d` + "\n",
		"\xff\x7fé": `\xff\x7fé`,
	} {
		require.Equal(t, escaped, escape(text))
		back, err := unescape(escaped)
		require.NoError(t, err)
		require.Equal(t, text, back)
	}
	for _, wrong := range []string{`\`, `\x`, `\x1`, `\xzz`, `\n`} {
		_, err := unescape(wrong)
		require.Error(t, err, wrong)
	}
	require.Equal(t, `"ns":0,"/tmp/..."`, mask(strings.ReplaceAll(`"ns":17,"/tmp/x/y"`, "x", "z")))
}

// TestReasonsAreDocumented requires every reason in docs/compatibility-tests.md or compatibility-details.md, word for
// word.
func TestReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	var doc []byte
	for _, name := range []string{"compatibility-tests.md", "compatibility-details.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
		require.NoError(t, err)
		doc = append(doc, text...)
	}
	all, err := Suites()
	require.NoError(t, err)
	for _, s := range all {
		for _, c := range s.Cases {
			for _, step := range c.Steps {
				if !bytes.Contains(doc, []byte(step.Reason)) {
					t.Errorf("%s: the reason is not in the documents: %s", step.Where(s), step.Reason)
				}
			}
		}
	}
}
