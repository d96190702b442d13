package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFiles: every file is written as it was read, all scenarios have a record, and only those
// whose record differs have a reason.
func TestFiles(t *testing.T) {
	t.Parallel()
	all, err := Suites()
	require.NoError(t, err)
	n := 0
	for _, s := range all {
		text, err := files.ReadFile("testdata/" + s.Name + ".txt")
		require.NoError(t, err)
		require.Equal(t, string(text), Format(s, Head(string(text))), s.Name)
		names := map[string]bool{}
		for _, c := range s.Scenarios {
			n++
			require.NotEmpty(t, c.Models, c.Name)
			require.NotEmpty(t, c.Events, c.Name)
			require.NotEmpty(t, c.NVIDIA, c.Name)
			require.Equal(t, len(c.Reasons) > 0, len(c.Ours) > 0, c.Name)
			require.NotEqual(t, c.NVIDIA, c.Ours, c.Name)
			require.False(t, names[c.Name], "%s twice", c.Name)
			names[c.Name] = true
		}
	}
	t.Logf("%d scenarios", n)
}

// TestWrongFiles: the error for an invalid file has the line.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no setting":              "x.txt:1: ",
		"a: b\n## c\n  x":         "x.txt:3: ",
		"## c\n? x":               "x.txt:2: ",
		"## c\n> x a":             "x.txt:2: ",
		"## c\n> 0":               "x.txt:2: ",
		"## c\n> 0 a rows=x":      "x.txt:2: ",
		"## c\n> 0 a priority=-1": "x.txt:2: ",
		"## c\n> 0 a smell=sweet": "x.txt:2: ",
		"## c\nmodel":             "x.txt:2: ",
	} {
		_, err := Parse("x", text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestReasonsAreDocumented wants every reason in docs/compatibility-tests.md, word for
// word.
func TestReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "compatibility-tests.md"))
	require.NoError(t, err)
	all, err := Suites()
	require.NoError(t, err)
	for _, s := range all {
		for _, c := range s.Scenarios {
			for _, why := range c.Reasons {
				if !strings.Contains(string(doc), why) {
					t.Errorf("%s: %s: the reason is not in the document: %s", s.Name, c.Name, why)
				}
			}
		}
	}
}

// FuzzParse: a file that was parsed is the same after it is written and parsed again.
func FuzzParse(f *testing.F) {
	f.Add("a: b\n\n## c\nmodel m exec=1\n  max_batch_size: 2\n> 0 a rows=2\n> 5 cancel a\n> 9 end\n< 0 run m a\n! why\n= 0 run m\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x", text)
		if err != nil || len(s.Scenarios) == 0 {
			return
		}
		once := Format(s, "")
		again, err := Parse("x", once)
		if err != nil {
			t.Fatalf("%v:\n%s", err, once)
		}
		require.Equal(t, once, Format(again, ""))
	})
}
