package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
)

// TestDocument keeps the list of flags in docs/serve.md true.
func TestDocument(t *testing.T) {
	t.Parallel()
	sharedtest.GoldenSection(t, filepath.Join("..", "..", "..", "docs", "serve.md"), "flags", documentFlags())
}

// TestHasAllFlags looks for those that Triton 2.51 lists, and newer ones. The
// others are marked as ours.
func TestHasAllFlags(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "tritonserver_flags.txt"))
	require.NoError(t, err)
	theirs := map[string]bool{}
	for _, name := range strings.Fields(string(text)) {
		theirs[name] = true
	}
	b := newOptions(process.Process{}, pflag.NewFlagSet("serve", pflag.ContinueOnError)).table
	for _, name := range b.Names() {
		require.Equal(t, b.IsOwn(name), !theirs[name], name)
		delete(theirs, name)
	}
	require.Equal(t, map[string]bool{"help": true}, theirs)
}

// documentFlags returns the flags of serve as tables.
func documentFlags() string {
	b := newOptions(process.Process{}, pflag.NewFlagSet("serve", pflag.ContinueOnError)).table
	var s strings.Builder
	for i, g := range b.Groups() {
		if i > 0 {
			s.WriteString("\n")
		}
		fmt.Fprintf(&s, "### %s\n\n| Flag | Default | Effect |\n|---|---|---|\n", g.Title)
		for _, name := range g.Names {
			f := b.Lookup(name)
			effect, _, unused := strings.Cut(f.Usage, " Accepted; has no effect: ")
			switch {
			case unused:
				effect += " **No effect**: " + b.noEffect[name] + "."
			case b.IsOwn(name):
				effect += " *Not in Triton.*"
			}
			value := f.DefValue
			if value != "" {
				value = "`" + value + "`"
			}
			fmt.Fprintf(&s, "| `--%s` | %s | %s |\n", name, value, sharedtest.GoldenCell(effect))
		}
	}
	return s.String()
}
