package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var updateDoc = flag.Bool("update-doc", false, "write docs/serve.md anew")

// TestServeDocument keeps the list of flags in docs/serve.md true.
func TestServeDocument(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "serve.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const mark = "<!-- flags: written by go test ./cmd/cli -run TestServeDocument -update-doc -->\n"
	head, _, ok := strings.Cut(string(text), mark)
	require.True(t, ok)
	want := head + mark + documentFlags()
	if *updateDoc {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text))
}

// TestServeHasAllFlags looks for those that Triton 2.51 lists, and newer ones. The
// others are marked as ours.
func TestServeHasAllFlags(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "tritonserver_flags.txt"))
	require.NoError(t, err)
	theirs := map[string]bool{}
	for _, name := range strings.Fields(string(text)) {
		theirs[name] = true
	}
	b := newServeFlags(pflag.NewFlagSet("serve", pflag.ContinueOnError), func(string) string { return "" }).book
	for _, name := range b.names() {
		require.Equal(t, b.own[name], !theirs[name], name)
		delete(theirs, name)
	}
	require.Equal(t, map[string]bool{"help": true}, theirs)
}

// documentFlags is the flags of serve as tables.
func documentFlags() string {
	b := newServeFlags(pflag.NewFlagSet("serve", pflag.ContinueOnError), func(string) string { return "" }).book
	cell := strings.NewReplacer("|", `\|`, "<", "`<", ">", ">`").Replace
	var s strings.Builder
	for _, g := range b.groups {
		fmt.Fprintf(&s, "\n### %s\n\n| Flag | Default | Effect |\n|---|---|---|\n", g.title)
		for _, name := range g.names {
			f := b.set.Lookup(name)
			effect, _, unused := strings.Cut(f.Usage, " Accepted; has no effect: ")
			switch {
			case unused:
				effect += " **No effect**: " + b.why[name] + "."
			case b.own[name]:
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
