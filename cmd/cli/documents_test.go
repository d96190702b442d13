package cli_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```")
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestDocumentLinks checks that the file of every relative link in the documents exists, and
// the heading, if the link names one.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	names := []string{"README.md", "CONTRIBUTING.md"}
	require.NoError(t, fs.WalkDir(root, "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	}))
	texts := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		texts[name] = codeBlock.ReplaceAllString(string(text), "")
	}
	for _, name := range names {
		for _, m := range link.FindAllStringSubmatch(texts[name], -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s: the link %s leads to no file", name, m[1])
			} else if anchor != "" && !hasHeading(texts[target], anchor) {
				t.Errorf("%s: the link %s leads to no heading", name, m[1])
			}
		}
	}
}

// hasHeading reports whether a document has a heading with that anchor, which is made
// as GitHub makes it.
func hasHeading(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}
