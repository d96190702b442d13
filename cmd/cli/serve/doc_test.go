package serve

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
)

var update = flag.Bool("update", false, "write the golden files and the flags in docs/serve.md anew")

// TestDocument keeps the list of flags in docs/serve.md true.
func TestDocument(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "serve.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const mark = "<!-- flags: written by go test ./cmd/cli/serve -run TestDocument -update -->\n"
	head, _, ok := strings.Cut(string(text), mark)
	require.True(t, ok)
	want := head + mark + documentFlags()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text))
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
	cell := strings.NewReplacer("|", `\|`, "<", "`<", ">", ">`").Replace
	var s strings.Builder
	for _, g := range b.Groups() {
		fmt.Fprintf(&s, "\n### %s\n\n| Flag | Default | Effect |\n|---|---|---|\n", g.Title)
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
			fmt.Fprintf(&s, "| `--%s` | %s | %s |\n", name, value, cell(effect))
		}
	}
	return s.String()
}
