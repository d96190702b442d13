package perf

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
)

// TestDocument keeps the list of options in docs/perf-options.md true.
func TestDocument(t *testing.T) {
	t.Parallel()
	set := newOptions().flags(process.Process{})
	var s strings.Builder
	s.WriteString("| Option | Default | Effect |\n|---|---|---|\n")
	for _, g := range set.Groups() {
		if g.Title == "" {
			continue // deprecated options
		}
		for _, name := range g.Names {
			f := set.Lookup(name)
			option := typedName(name)
			if f.Value.Type() != "" {
				option += " " + strings.ReplaceAll(f.Value.Type(), "|", `\|`)
			}
			option = "`" + option + "`"
			if f.Shorthand != "" && name != "-"+f.Shorthand {
				option = "`-" + f.Shorthand + "`, " + option
			}
			effect, initial := f.Usage, ""
			if i := strings.LastIndex(f.Usage, " ("); i > 0 && strings.HasSuffix(f.Usage, ")") {
				effect, initial = f.Usage[:i], strings.TrimSuffix(f.Usage[i+2:], ")")
			}
			fmt.Fprintf(&s, "| %s | %s | %s |\n", option, initial, sharedtest.GoldenCell(effect))
		}
	}
	sharedtest.GoldenSection(t, filepath.Join("..", "..", "..", "docs", "perf-options.md"), "options", s.String())
}
