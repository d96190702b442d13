// The cache keeps files of remote repositories on this machine: a folder of files named by
// the SHA-256 of their content. Several processes may use one folder at the same time, and a new
// process finds what the last one left. What no process holds is removed, the least recently used
// first, when the files exceed the limit.
//
//	lock                 shared to look up and hold, exclusive to remove
//	blobs/<ab>/<digest>  content; the time of a file follows from its digest
//	used/<digest>        empty; its time is when the content was used last
//	keys/<ab>/<key>      the digest of the content that a source had under a name and a tag
//	locks/<key>          held while the content of a key is downloaded
//	process/<id>/        of one process, which holds its file lock:
//	  held/<digest>        the content that it uses
//	  part-*               unfinished downloads
//	  folder-*             folders of hard links
//
// A file appears under its digest when all of its content is there. A process that ends in any way
// leaves nothing but its folder under process, which the next one removes.

package mirror

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// CacheOptions configure a cache.
type CacheOptions struct {
	Dir string // made if it does not exist
	// Limit is the number of bytes above which unused files are removed; 0: none are.
	Limit int64
	Log   *slog.Logger
}

// Cache is the view of one process on a cache folder. Its methods may be called at the same time.
type Cache struct {
	opts CacheOptions
	root *os.Root // of the folder: no name leads out of it
	own  cacheProcess

	mu      sync.Mutex
	held    map[string]int           // references by digest
	flights map[string]chan struct{} // downloads of this process by key
	folders int

	bytes                atomic.Int64 // of all files, as far as this process knows
	added                atomic.Int64 // by this process since the last survey
	hits, misses, evicts atomic.Int64
	full                 atomic.Bool // the limit is exceeded by what is in use
}

// CacheStats are the counters of a cache.
type CacheStats struct {
	Bytes, Limit            int64
	Hits, Misses, Evictions int64
}

// OpenCache opens a cache folder, and removes what processes that have ended left.
func OpenCache(o CacheOptions) (*Cache, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	for _, sub := range []string{"blobs", "used", "keys", "locks", "process"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("making the cache folder of remote repositories: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	c := &Cache{opts: o, root: root, held: map[string]int{}, flights: map[string]chan struct{}{}}
	if err := c.enter(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return c, nil
}

// Close removes the files of this process. Its folders are not valid any more.
func (c *Cache) Close() error {
	return errors.Join(c.leave(), c.root.Close())
}

// Stats returns the counters.
func (c *Cache) Stats() CacheStats {
	return CacheStats{Bytes: c.bytes.Load(), Limit: c.opts.Limit, Hits: c.hits.Load(), Misses: c.misses.Load(), Evictions: c.evicts.Load()}
}

// path returns the path of a file of the cache.
func (c *Cache) path(parts ...string) string {
	return filepath.Join(append([]string{c.opts.Dir}, parts...)...)
}
