package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/server/access"
)

func addCommand(p process.Process) *cobra.Command {
	var file string
	var valid time.Duration
	return subcommand(p, &cobra.Command{
		Use: "add OWNER --api-keys FILE", Short: "Make an API key and print it, this once",
		Long: `Make an API key of an owner, add its hash to a file, and print the key. The key is
kept nowhere and cannot be shown again. An owner may have several keys, so that a
new one can be in use before the old one is revoked. Servers read the file within
a second. In an access policy the owner is key:OWNER.`,
		Example: "  triton access add alice --api-keys keys\n  triton access add ci --api-keys keys --valid 2160h",
	}, 1, func(f *flags.Set) {
		bindFile(f, &file)
		f.DurationVar(&valid, "valid", 0, "time after which the key expires; 0 is never")
	}, func(args []string) error {
		if err := needFile(file); err != nil {
			return err
		}
		if valid < 0 {
			return process.UsageError("--valid is %s: the key would have expired", valid)
		}
		now, expires := time.Now(), time.Time{}
		if valid > 0 {
			expires = now.Add(valid)
		}
		key, entry, err := access.NewAPIKey(args[0], now, expires)
		if err != nil {
			return process.UsageError("%w", err)
		}
		if err := change(file, func(all []access.APIKey) ([]access.APIKey, error) { return append(all, entry), nil }); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout, key)
		return nil
	})
}

func listCommand(p process.Process) *cobra.Command {
	var file string
	return subcommand(p, &cobra.Command{
		Use: "list --api-keys FILE", Short: "List the API keys of a file",
	}, 0, func(f *flags.Set) { bindFile(f, &file) }, func([]string) error {
		if err := needFile(file); err != nil {
			return err
		}
		entries, err := read(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.Stdout, row, "ID", "CREATED", "EXPIRES", "OWNER")
		for i := range entries {
			e := &entries[i]
			fmt.Fprintf(p.Stdout, row, e.ID(), timeText(e.Created), timeText(e.Expires), e.Owner)
		}
		return nil
	})
}

// row is a line of the list; owners may be long.
const row = "%-8s  %-20s  %-20s  %s\n"

func timeText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func revokeCommand(p process.Process) *cobra.Command {
	var file string
	return subcommand(p, &cobra.Command{
		Use: "revoke ID|OWNER --api-keys FILE", Short: "Revoke one API key, or all of an owner",
		Example: "  triton access revoke 3f2a91bc --api-keys keys\n  triton access revoke alice --api-keys keys",
	}, 1, func(f *flags.Set) { bindFile(f, &file) }, func(args []string) error {
		if err := needFile(file); err != nil {
			return err
		}
		n := 0
		err := change(file, func(all []access.APIKey) (kept []access.APIKey, err error) {
			for _, e := range all {
				if e.Owner == args[0] || e.ID() == args[0] {
					n++
					continue
				}
				kept = append(kept, e)
			}
			if n == 0 {
				return nil, failure("%s has no key with the ID or owner %q", file, args[0])
			}
			return kept, nil
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(p.Stdout, "revoked %d\n", n)
		return nil
	})
}

func read(file string) ([]access.APIKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, failure("API keys: %w", err)
	}
	entries, err := access.ParseAPIKeys(text)
	if err != nil {
		return nil, failure("%s: %w", file, err)
	}
	return entries, nil
}

// fileMode lets only the owner of the file, and its group, read it.
const fileMode = 0o640

// change replaces a file as a whole, so that a server never reads half of it. The new file has
// the rights and the owner of the earlier one, so that the server can read it. Two changes at a
// time happen one after the other.
func change(file string, edit func([]access.APIKey) ([]access.APIKey, error)) (err error) {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	lock := flock.New(file + ".lock")
	if err := lock.Lock(); err != nil {
		return failure("API keys: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	entries, err := read(file)
	if _, missing := os.Stat(file); err != nil && !errors.Is(missing, fs.ErrNotExist) {
		return err
	}
	if entries, err = edit(entries); err != nil {
		return err
	}
	if err := process.PutFile(file, fileMode, access.FormatAPIKeys(entries)); err != nil {
		return failure("API keys: %w", err)
	}
	return nil
}
