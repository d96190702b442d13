package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// module is a module under git, whose packages differ in what the race detector could see.
const module = `
-- go.mod --
module example
go 1.26
-- pure/pure.go --
package pure
-- pure/pure_test.go --
package pure
import ("sync"; "testing")
func Test(*testing.T) { var m sync.Mutex; m.Lock(); go m.Unlock() }
-- starts/starts.go --
package starts
import "example/pure"
var _ = pure.X
func Start() { func() { go func() {}() }() }
-- starts/starts_test.go --
package starts
-- counts/counts.go --
package counts
import "sync/atomic"
var N atomic.Int64
-- counts/counts_test.go --
package counts
-- waits/waits.go --
package waits
import "sync"
var M sync.Mutex
-- waits/waits_test.go --
package waits
import "testing"
func Test(t *testing.T) { if testing.Short() { t.Skip() } }
-- fast/fast.go --
package fast
import "sync"
var M sync.Mutex
-- fast/fast_race.go --
//go:build race
package fast
-- fast/fast_test.go --
package fast
-- untested/untested.go --
package untested
import "sync"
var M sync.Mutex
-- uses/uses.go --
package uses
import _ "example/starts"
-- uses/uses_test.go --
package uses
-- uses/testdata/golden/a.txt --
-- tests/tests.go --
package tests
-- tests/tests_test.go --
package tests
import _ "example/uses"
`

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func TestPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "")
	for _, f := range txtar.Parse([]byte(module)).Files {
		write(t, f.Name, string(f.Data))
	}
	write(t, "pure/x.go", "package pure\nconst X = 1\n")
	run := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	run("init", "-q", "-b", "main")
	run("add", "-A")
	run("commit", "-q", "-m", "all")
	run("checkout", "-q", "-b", "work")
	check := func(want string, args ...string) {
		t.Helper()
		got, err := plan(args)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(got, " "), "%q", args)
	}
	check("./counts ./fast ./starts ./waits", "race")
	check("./fast ./pure ./tests ./uses ./waits", "plain")
	check("", "changed")

	write(t, "uses/testdata/golden/a.txt", "changed")
	check("./tests ./uses", "changed")
	run("commit", "-q", "-a", "-m", "golden")
	check("./tests ./uses", "changed", "main")
	check("", "changed", "HEAD")
	write(t, "pure/new.go", "package pure\n")
	write(t, "README.md", "concerns no package")
	check("./pure ./starts", "changed", "HEAD")
	check("./pure ./starts ./tests ./uses", "affected", "HEAD")
	write(t, "go.sum", "")
	check("./counts ./fast ./pure ./starts ./tests ./untested ./uses ./waits", "changed", "HEAD")

	for want, args := range map[string][]string{
		"say which packages: ":            {},
		`"all" is no choice: `:            {"all"},
		"git merge-base: exit status 128": {"changed", "nosuch"},
	} {
		_, err := plan(args)
		require.ErrorContains(t, err, want)
	}
	write(t, "pure/new.go", "not Go")
	_, err := plan([]string{"race"})
	require.Error(t, err)
}

// The packages that serve requests are among those that the race detector sees; one that only decides is not; and
// each is in a lane.
func TestOfThisModule(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	got, err := plan([]string{"race"})
	require.NoError(t, err)
	require.Contains(t, got, "./server")
	plain, err := plan([]string{"plain"})
	require.NoError(t, err)
	require.Contains(t, plain, "./deploy/testplan")
	all, err := list()
	require.NoError(t, err)
	for _, p := range all {
		name := "./" + p.folder()
		require.True(t, !p.hasTests() || slices.Contains(got, name) || slices.Contains(plain, name), "no lane tests %s", name)
	}
}
