package repo

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
	"triton/repo/example"
)

// TestDocument keeps the lists of flags in docs/repo.md true.
func TestDocument(t *testing.T) {
	t.Parallel()
	for command, bind := range map[string]func(*flags.Set){
		"lint":     new(lintOptions).bind,
		"fmt":      new(fmtOptions).bind,
		"lsp":      new(lspOptions).bind,
		"render":   new(renderOptions).bind,
		"diff":     new(diffOptions).bind,
		"state":    func(f *flags.Set) { o := new(stateOptions); o.bind(f); o.bindForm(f); o.bindDry(f) },
		"scaffold": new(scaffoldOptions).bind,
		"example":  func(f *flags.Set) { bindExample(&example.Options{}, f) },
	} {
		set := flags.New(process.Process{}, "repo "+command, pflag.NewFlagSet(command, pflag.ContinueOnError))
		set.SortFlags = false
		bind(set)
		var s strings.Builder
		s.WriteString("| Flag | Default | Effect |\n|---|---|---|\n")
		set.VisitAll(func(f *pflag.Flag) {
			initial := f.DefValue
			switch {
			case f.Name == "cpus":
				initial = "those of this machine"
			case f.Name == maxBatchFlag, initial == "false", initial == "[]", initial == "":
				initial = ""
			default:
				initial = "`" + initial + "`"
			}
			name := "`--" + f.Name + "`"
			if f.Shorthand != "" {
				name = "`-" + f.Shorthand + "`, " + name
			}
			fmt.Fprintf(&s, "| %s | %s | %s |\n", name, initial, sharedtest.GoldenCell(f.Usage))
		})
		sharedtest.GoldenSection(t, filepath.Join("..", "..", "..", "docs", "repo.md"), command+" flags", s.String())
	}
}
