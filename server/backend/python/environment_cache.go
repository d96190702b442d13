package python

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"triton/pkg/status"
)

// environmentStore keeps what was unpacked and installed, for this server and those after it. The
// zero value is ready for use.
type environmentStore struct {
	sums sync.Map // of archives, by file
}

// environmentCache returns the folder of the cache. It makes one that is missing.
func environmentCache(o environmentOptions) (string, error) {
	if o.Cache != "" {
		dir, err := filepath.Abs(o.Cache)
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		if err != nil {
			return "", status.New(status.Unavailable, "the folder of Python environments: %w", err)
		}
		return dir, nil
	}
	dir := filepath.Join(os.TempDir(), "triton_python_"+strconv.Itoa(os.Getuid()))
	err := os.Mkdir(dir, 0o700)
	if os.IsExist(err) {
		err = checkPrivate(dir)
	}
	if err != nil {
		return "", status.New(status.Unavailable,
			"the folder of Python environments: %w; name another with --backend-config=python,environment-cache-directory=<path>", err)
	}
	return dir, nil
}

// cacheEntry returns a folder of the cache. A folder that is missing or incomplete is made,
// by one process at a time: fill completes it. The lock is for the processes that fill starts:
// as long as one of them lives, no other server makes the folder.
func cacheEntry(ctx context.Context, root, key string, fill func(dir string, lock *os.File) error) (string, error) {
	dir := filepath.Join(root, key)
	complete := dir + ".complete"
	ready := func() bool { return exists(complete) && exists(dir) }
	if ready() {
		return dir, nil
	}
	held, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", status.New(status.Unavailable, "waiting for the Python environment %s: %w", dir, err)
	}
	defer held.Close()
	if ready() {
		return dir, nil
	}
	if err = os.RemoveAll(dir); err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", status.New(status.Internal, "Failed to create environment directory for '%s': %w", dir, err)
	}
	if err := fill(dir, held); err != nil {
		_ = os.RemoveAll(dir) // without its mark it is not used anyway
		return "", err
	}
	if err := os.WriteFile(complete, nil, 0o600); err != nil {
		return "", status.New(status.Internal, "the Python environment %s: %w", dir, err)
	}
	return dir, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
