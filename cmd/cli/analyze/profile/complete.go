package profile

import (
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
)

// Complete tells shells what the arguments of the flags are. Folders and files name the flags that
// take them; others has the flags with functions of their own. Flags with fixed values need no entry.
func (f *optionFlags) Complete(folders, files []string, others map[string]flags.Completion) {
	f.cmd.ValidArgsFunction = cobra.NoFileCompletions
	functions := map[string]flags.Completion{}
	for _, name := range f.Names() {
		kind := f.Lookup(name).Value.Type()
		switch {
		case kind == "bool":
			functions[name] = flags.CompleteValues("true", "false")
		case strings.Contains(kind, "|"):
			functions[name] = flags.CompleteValues(strings.Split(kind, "|")...)
		default:
			functions[name] = flags.CompleteNothing
		}
	}
	maps.Copy(functions, others)
	for _, name := range append(folders, files...) {
		delete(functions, name)
	}
	flags.CompleteFolders(f.cmd, folders...)
	flags.Complete(f.cmd, functions)
}
