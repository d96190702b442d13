// Package accesstest makes guards with rules and keys. It is for tests only.
package accesstest

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/access"
	"triton/server/access/policy"
)

// WriteKeys writes a file with a key of each owner.
func WriteKeys(t *testing.T, owners ...string) (file string, keys map[string]string) {
	t.Helper()
	return writeKeys(t, t.TempDir(), owners)
}

func writeKeys(t *testing.T, dir string, owners []string) (file string, keys map[string]string) {
	t.Helper()
	file, keys = filepath.Join(dir, "keys"), map[string]string{}
	var entries []access.APIKey
	for _, owner := range owners {
		key, e, err := access.NewAPIKey(owner, time.Now(), time.Time{})
		require.NoError(t, err)
		keys[owner], entries = key, append(entries, e)
	}
	require.NoError(t, os.WriteFile(file, access.FormatAPIKeys(entries), 0o600))
	return file, keys
}

// New returns a guard with rules, the key of each owner, and the file of the guard's audit log. The files of rules
// ("policy") and keys ("keys") lie beside it.
func New(t *testing.T, rules string, owners ...string) (g *access.Guard, keys map[string]string, audit string) {
	t.Helper()
	dir := t.TempDir()
	file, keys := writeKeys(t, dir, owners)
	o := access.Options{Policy: filepath.Join(dir, "policy"), Keys: file}
	o.Audit.File = filepath.Join(dir, "audit")
	require.NoError(t, os.WriteFile(o.Policy, []byte(rules), 0o600))
	g, err := access.New(o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.Close() })
	return g, keys, o.Audit.File
}

// EachRight returns a guard with a key for each action, which has that right alone: for the
// model, if the action is about models. The key "all" may do everything, and "none" nothing.
func EachRight(t *testing.T, model string) (g *access.Guard, keys map[string]string) {
	t.Helper()
	var rules strings.Builder
	rules.WriteString("rules:\n- {who: ['key:all'], allow: ['*'], models: ['*']}\n")
	owners := []string{"all", "none"}
	for _, a := range policy.AllActions() {
		models := ""
		if a.OfModel() {
			models = fmt.Sprintf(", models: [%s]", model)
		}
		fmt.Fprintf(&rules, "- {who: ['key:%s'], allow: [%s]%s}\n", a, a, models)
		owners = append(owners, a.String())
	}
	g, keys, _ = New(t, rules.String(), owners...)
	return g, keys
}
