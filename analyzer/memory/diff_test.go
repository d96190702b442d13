package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiffLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string
		want     []string
	}{
		"equal":         {"a\nb\n", "a\nb\n", nil},
		"no file":       {"", "a\n", []string{"+a"}},
		"changed":       {"a\nb\nc\nd\n", "a\nb\nC\nd\n", []string{" b", "-c", "+C", " d"}},
		"added":         {"a\nb\n", "a\nb\nc\n", []string{" b", "+c"}},
		"removed":       {"a\nb\nc\n", "b\nc\n", []string{"-a", " b"}},
		"blank lines":   {"a\n\nb", "a\n\nB", []string{" ", "-b", "+B"}},
		"two far apart": {"a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", []string{"-a", "+A", " b", " d", "-e", "+E"}},
	} {
		require.Equal(t, c.want, diffLines(c.from, c.to), name)
	}
}
