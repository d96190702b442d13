package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// resources counts what this process holds: descriptors by kind, mappings of memory files,
// goroutines and children.
func resources(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{"goroutine": runtime.NumGoroutine(), "child": len(childIDs(t))}
	for _, fd := range names(t, "/proc/self/fd") {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", fd))
		if err != nil {
			continue // of this list
		}
		kind, _, _ := strings.Cut(to, ":")
		if strings.HasPrefix(to, "/") {
			kind = "file"
		}
		all[kind]++
	}
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	all["mapped"] = strings.Count(string(maps), "/memfd:")
	return all
}

// more reports whether there is more of anything.
func more(before, after map[string]int) bool {
	for kind, n := range after {
		if n > before[kind] {
			return true
		}
	}
	return false
}

// childIDs returns the IDs of the children of this process, also of those that nobody has
// waited for.
func childIDs(t *testing.T) map[int]bool {
	t.Helper()
	all := map[int]bool{}
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // the thread may have ended
		for _, pid := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(pid)
			require.NoError(t, err, fmt.Sprintf("%q", text))
			all[n] = true
		}
	}
	return all
}

// names returns the names in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// requireNoSharedMemoryFiles checks that neither this process nor a child has something of
// /dev/shm open or mapped.
func requireNoSharedMemoryFiles(t *testing.T) {
	t.Helper()
	all := childIDs(t)
	all[os.Getpid()] = true
	for pid := range all {
		dir := fmt.Sprintf("/proc/%d/", pid)
		maps, _ := os.ReadFile(dir + "maps") // the process may have ended
		require.NotContains(t, string(maps), "/dev/shm/")
		files, _ := filepath.Glob(dir + "fd/*")
		for _, f := range files {
			to, _ := os.Readlink(f)
			require.NotContains(t, to, "/dev/shm/")
		}
	}
}
