package profile

import (
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/complete"
)

// Complete tells shells what the arguments of the flags are. Folders and files name the flags that
// take them; others has the flags with functions of their own. optionFlags with fixed values need no entry.
func (f *optionFlags) Complete(folders, files []string, others map[string]complete.Func) {
	f.cmd.ValidArgsFunction = cobra.NoFileCompletions
	functions := map[string]complete.Func{}
	for _, name := range f.Names() {
		kind := f.Lookup(name).Value.Type()
		switch {
		case kind == "bool":
			functions[name] = complete.Values("true", "false")
		case strings.Contains(kind, "|"):
			functions[name] = complete.Values(strings.Split(kind, "|")...)
		default:
			functions[name] = complete.Nothing
		}
	}
	for name, function := range others {
		functions[name] = function
	}
	for _, name := range append(folders, files...) {
		delete(functions, name)
	}
	complete.Folders(f.cmd, folders...)
	complete.Flags(f.cmd, functions)
}
