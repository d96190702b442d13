package perf

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
)

// completion suggests options and their arguments. cobra does not parse perf's options, so that
// it knows none of them.
func completion(p process.Process) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		set := newOptions().flags(p)
		_, _, err := getopt(set, args)
		var missing missingArgument
		switch {
		case slices.Contains(args, "--"):
			return nil, cobra.ShellCompDirectiveNoFileComp
		case errors.As(err, &missing):
			return argument(cmd.Context(), p, missing.flag, args[:len(args)-1], prefix, "")
		case strings.HasPrefix(prefix, "--") && strings.Contains(prefix, "="):
			name, text, _ := strings.Cut(prefix[2:], "=")
			f, err := findLong(set, name)
			if err != nil || !takesArgument(f) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return argument(cmd.Context(), p, f, args, text, "") // the shell adds the name
		case len(prefix) > 2 && prefix[0] == '-' && prefix[1] != '-':
			if f := set.ShorthandLookup(prefix[1:2]); f != nil && takesArgument(f) {
				return argument(cmd.Context(), p, f, args, prefix[2:], prefix[:2])
			}
		case strings.HasPrefix(prefix, "-"):
			return names(set, prefix), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// names returns the options that begin with prefix, with their descriptions.
func names(set *flags.Set, prefix string) []string {
	var all []string
	for _, g := range set.Groups() {
		if g.Title == "" {
			continue // deprecated or not supported
		}
		for _, name := range g.Names {
			f := set.Lookup(name)
			if full := typedName(name); strings.HasPrefix(full, prefix) {
				all = append(all, cobra.CompletionWithDesc(full, f.Usage))
			}
		}
	}
	return all
}

// words are the alternatives of an argument, such as <http|grpc>. A single word describes the
// argument.
var words = regexp.MustCompile(`^<\w+(\|\w+)*>$`)

// described are the words among alternatives that describe an argument.
var described = []string{"n", "list", "range", "msec", "time"}

// argument suggests the argument of an option. joined is put in front of each suggestion.
func argument(ctx context.Context, p process.Process, f *pflag.Flag, args []string, prefix, joined string) ([]string, cobra.ShellCompDirective) {
	kind := f.Value.Type()
	directive := cobra.ShellCompDirectiveNoFileComp
	var values []string
	switch {
	case f.Name == "model":
		values = flags.ServerModels(cmp.Or(ctx, context.Background()), serverOf(p, args), p.CompletionTime)
	case words.MatchString(kind):
		for _, word := range strings.Split(strings.Trim(kind, "<>"), "|") {
			switch {
			case word == "file" || word == "path":
				directive = cobra.ShellCompDirectiveDefault
			case word == "dir":
				directive = cobra.ShellCompDirectiveFilterDirs
			case strings.Contains(kind, "|") && !slices.Contains(described, word):
				values = append(values, word)
			}
		}
	}
	values = flags.WithPrefix(values, prefix)
	for i := range values {
		values[i] = joined + values[i]
	}
	return values, directive
}

// serverOf returns the server that a command line, the environment and the settings file name.
// Options that are wrong or incomplete are ignored: the user is still typing.
func serverOf(p process.Process, args []string) client.Options {
	o := newOptions()
	set := o.flags(p)
	typed, _, err := getopt(set, args)
	if err != nil {
		typed = nil
	}
	given, err := fromEnvironmentAndFile(set, typed)
	if err != nil {
		given = nil
	}
	for _, a := range append(given, typed...) {
		_ = a.Flag.Value.Set(a.Text)
	}
	o.setAddress()
	_ = o.connectSecurely()
	return o.client
}
