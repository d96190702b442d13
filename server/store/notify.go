// A Watcher tells that something was changed below local folders, as soon as it was. What was changed it
// does not tell: whoever waits compares the folders anyway, and changes that the system does not report,
// as on network file systems, are found by comparing them from time to time.

package store

import (
	"os"
	"path/filepath"
)

// Bounds of the folders that are followed: links may form circles, or lead out of the repository.
const (
	maxWatchDepth = 16
	maxWatched    = 100_000
)

// eachFolder calls visit with a folder and all folders below it, until visit returns false. It follows
// links, but not back to a folder that it is in. Folders that cannot be read are left out.
func eachFolder(root string, visit func(path string) bool) {
	n := 0
	var within []os.FileInfo
	var down func(path string) bool
	down = func(path string) bool {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() || len(within) >= maxWatchDepth {
			return true
		}
		for _, outer := range within {
			if os.SameFile(outer, info) {
				return true
			}
		}
		if n++; n > maxWatched || !visit(path) {
			return false
		}
		entries, _ := os.ReadDir(path)
		within = append(within, info)
		defer func() { within = within[:len(within)-1] }()
		for _, e := range entries {
			if e.IsDir() || e.Type()&os.ModeSymlink != 0 {
				if !down(filepath.Join(path, e.Name())) {
					return false
				}
			}
		}
		return true
	}
	down(root)
}
