package analyze

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
)

// TestDocument keeps the list of flags in docs/analyze.md true.
func TestDocument(t *testing.T) {
	t.Parallel()
	set := flags.New(process.Process{}, "analyze", pflag.NewFlagSet("analyze", pflag.ContinueOnError))
	new(arguments).bind(set)
	sharedtest.GoldenSection(t, filepath.Join("..", "..", "..", "docs", "analyze.md"), "flags", flagTable(set.FlagSet))
}

func flagTable(set *pflag.FlagSet) string {
	var s strings.Builder
	s.WriteString("| Flag | Default | Effect |\n|---|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		initial := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			initial = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&s, "| %s | %s | %s |\n", name, initial, sharedtest.GoldenCell(f.Usage))
	})
	return s.String()
}

// TestDocumentSubcommands keeps the lists of flags in docs/analyze-simulate.md true.
func TestDocumentSubcommands(t *testing.T) {
	t.Parallel()
	for _, cmd := range NewCommand(process.Process{}).Commands() {
		if name := cmd.Name(); name == "devices" || name == "simulate" || name == "capacity" {
			sharedtest.GoldenSection(t, filepath.Join("..", "..", "..", "docs", "analyze-simulate.md"), name+" flags", flagTable(cmd.Flags()))
		}
	}
}
