package python

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hanging writes a model and a package pip in place of the real one. An installation writes a
// file, starts a process and, while there is a file "hang", waits.
func hanging(t *testing.T) (dir string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import venv").CombinedOutput(); err != nil {
		t.Skipf("needs python3 with venv: %s", out)
	}
	dir = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "pip"), 0o755))
	for name, text := range map[string]string{
		"requirements.txt": "nothing", "hang": "", "pip/__init__.py": "",
		"pip/__main__.py": `import os, subprocess, sys, sysconfig, time
if sys.argv[1] != "install": sys.exit(0)
here = os.path.dirname(os.path.dirname(__file__))
with open(os.path.join(sysconfig.get_path("purelib"), f"half_{os.getpid()}.py"), "w"): pass
with open(os.path.join(here, "installations"), "a") as f: f.write(".")
if not os.path.exists(os.path.join(here, "hang")): sys.exit(0)
more = subprocess.Popen(["sleep", "1000"])
with open(os.path.join(here, "pids~"), "w") as f: f.write(f"{os.getpid()} {os.getppid()} {more.pid}")
os.rename(os.path.join(here, "pids~"), os.path.join(here, "pids"))
time.sleep(1000)`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// pids waits for the processes of an installation.
func pids(t *testing.T, dir string) (all []int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "pids"))
		all = nil
		for field := range strings.FieldsSeq(string(text)) {
			pid := 0
			if _, err := fmt.Sscan(field, &pid); err == nil {
				all = append(all, pid)
			}
		}
		return err == nil && len(all) == 3
	}, time.Minute, 10*time.Millisecond)
	return all
}

// gone reports whether a process has ended. A zombie has ended too.
func gone(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func requireGone(t *testing.T, all []int) {
	t.Helper()
	for _, pid := range all {
		require.Eventually(t, func() bool { return gone(pid) }, time.Minute, 10*time.Millisecond)
	}
}

// requireWhole lets several servers need the environment that an ended installation has left
// behind. One of them installs it, from the beginning.
func requireWhole(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(dir, "hang")))
	var servers sync.WaitGroup
	for range 4 {
		servers.Go(func() {
			e, err := (&environmentStore{}).Find(t.Context(), installing(dir))
			require.NoError(t, err)
			halves, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(e.Interpreter)), "lib", "python*", "site-packages", "half_*.py"))
			require.NoError(t, err)
			require.Len(t, halves, 1)
		})
	}
	servers.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "installations"))
	require.NoError(t, err)
	require.Equal(t, "..", string(text))
}

// TestInstallationEndsWithServer: an installation, with all its processes, ends when its server
// is killed. What it has made is not used.
func TestInstallationEndsWithServer(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: installs packages")
	}
	dir := hanging(t)
	t.Setenv("PYTHONPATH", dir)
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), testServerVariable+"="+dir)
	require.NoError(t, server.Start())
	all := pids(t, dir)
	require.NoError(t, server.Process.Signal(syscall.SIGKILL))
	require.Error(t, server.Wait())
	requireGone(t, all)
	requireWhole(t, dir)
}

// TestInstallationEndsWithLoad: the same when the load is cancelled.
func TestInstallationEndsWithLoad(t *testing.T) {
	dir := hanging(t)
	t.Setenv("PYTHONPATH", dir)
	ctx, cancel := context.WithCancel(t.Context())
	found := make(chan error)
	go func() {
		_, err := (&environmentStore{}).Find(ctx, installing(dir))
		found <- err
	}()
	all := pids(t, dir)
	cancel()
	require.ErrorIs(t, <-found, context.Canceled)
	requireGone(t, all)
	requireWhole(t, dir)
}
