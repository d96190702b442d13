package serve

import (
	"fmt"
	"os"
	"path/filepath"
)

// bindCache defines the flags of remote repositories.
func (o *options) bindCache(t *table) {
	r := &o.Remote
	r.Getenv, r.CacheSize = o.getenv, defaultCacheSize
	t.text(&r.CacheDirectory, "repository-cache-directory",
		"Folder for the files of remote repositories; it may be shared by several servers. By default triton/repositories in the user's cache folder.")
	t.value(intValue[int64]{&r.CacheSize, 0, maxInt, "Error: --repository-cache-size must not be negative."}, "repository-cache-size",
		"Maximum number of bytes in that folder: unused files are removed, the least recently used first. 0 is no limit.")
	t.MarkOwn("repository-cache-directory", "repository-cache-size")
}

const defaultCacheSize = 64 << 30

// cacheDirectory returns the default folder for the files of remote repositories: one that stays
// over restarts, or else a folder for temporary files.
func cacheDirectory(getenv func(string) string) string {
	if dir := getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "triton", "repositories")
	}
	if dir, err := os.UserCacheDir(); err == nil && getenv("HOME") != "" {
		return filepath.Join(dir, "triton", "repositories")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("triton-repositories-%d", os.Getuid()))
}
