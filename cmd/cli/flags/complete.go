package flags

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triton/pkg/client"
	"triton/repo"
)

// Completion suggests arguments of a flag that begin with prefix to a shell, which asks with cobra's command
// __complete. It prints no errors: where nothing is known, nothing is suggested.
type Completion func(cmd *cobra.Command, prefix string) []string

// Complete registers functions for flags of a command. A flag that has none takes a file.
func Complete(cmd *cobra.Command, functions map[string]Completion) {
	for name, f := range functions {
		err := cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return WithPrefix(f(cmd, prefix), prefix), cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic(err) // the command has no such flag
		}
	}
}

// CompleteFolders marks flags whose arguments are folders.
func CompleteFolders(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagDirname(name); err != nil {
			panic(err) // the command has no such flag
		}
	}
}

// CompleteValues suggests fixed arguments.
func CompleteValues(values ...string) Completion {
	return func(*cobra.Command, string) []string { return values }
}

// CompleteNothing suggests no argument, and no file either.
func CompleteNothing(*cobra.Command, string) []string { return nil }

// WithPrefix returns the values that begin with prefix.
func WithPrefix(values []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, prefix) })
}

// RepositoryModels returns the names of the models in repositories.
func RepositoryModels(folders []string) []string {
	var names []string
	for _, folder := range folders {
		models, err := repo.Open(folder)
		if err != nil {
			continue
		}
		for _, m := range models {
			names = append(names, m.Name)
		}
	}
	return unique(names)
}

// serverTime is how long a server may take to answer, by default: somebody waits at the keyboard.
const serverTime = time.Second

// ServerModels asks a server for the names of its models. It waits no longer than limit; 0: a second.
func ServerModels(ctx context.Context, o client.Options, limit time.Duration) []string {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(limit, serverTime))
	defer cancel()
	c, err := client.New(o)
	if err != nil {
		return nil
	}
	defer func() { _ = c.Close() }()
	index, err := c.Index(ctx, false)
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range index {
		names = append(names, m.GetName())
	}
	return unique(names)
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
