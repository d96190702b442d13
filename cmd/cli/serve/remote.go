package serve

import (
	"fmt"
	"os"
	"path/filepath"

	"triton/server/store/remote"
	"triton/server/store/remote/unpack"
)

// bindCache defines the flags of remote repositories.
func (o *options) bindCache(t *table) {
	r := &o.Remote
	r.Getenv, r.CacheSize = o.getenv, defaultCacheSize
	t.text(&r.CacheDirectory, "repository-cache-directory",
		"Folder for the files of remote repositories; it may be shared by several servers. By default triton/repositories in the user's cache folder.")
	t.value(intValue[int64]{&r.CacheSize, 0, maxInt, "Error: --repository-cache-size must not be negative."}, "repository-cache-size",
		"Maximum number of bytes in that folder: unused files are removed, the least recently used first. 0 is no limit.")
	r.Unpack = unpack.DefaultLimits()
	t.value(intValue[int64]{&r.Unpack.Bytes, 1, maxInt, "Error: --repository-unpack-limit must be greater than 0."}, "repository-unpack-limit",
		"Maximum number of bytes that an archive or an image may have when it is unpacked.")
	t.parsed(o.setPublicKey, "", "repository-public-key",
		"File with a public key in PEM form (ECDSA P-256). Archives and images without its signature are refused.")
	t.parsed(o.setStoreOffline, "fail", "store-offline",
		"What happens at the start while a remote repository cannot be reached: fail is an error, cached serves the models of an earlier start, as far as the cache has their files. Archives and images with a --repository-public-key are never started so.")
	t.MarkOwn("store-offline", "repository-cache-directory", "repository-cache-size", "repository-unpack-limit", "repository-public-key")
}

// setStoreOffline sets what happens while a store cannot be reached at the start.
func (o *options) setStoreOffline(text string) error {
	switch text {
	case "fail", "cached":
		o.Remote.Offline = text == "cached"
		return nil
	}
	return fmt.Errorf("Error: --store-offline must be fail or cached, not %q.", text) //nolint:staticcheck // the form of the other flags
}

// setPublicKey reads the key; an empty path is none.
func (o *options) setPublicKey(path string) (err error) {
	o.Remote.PublicKey = nil
	if path != "" {
		o.Remote.PublicKey, err = remote.ReadPublicKey(path)
	}
	return err
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
