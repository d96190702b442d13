package mirror

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// stored is a file of the cache and when it was used last.
type stored struct {
	digest string
	size   int64
	used   time.Time
}

// survey lists the files of the cache and counts their bytes.
func (c *Cache) survey() ([]stored, error) {
	var all []stored
	total := int64(0)
	err := filepath.WalkDir(c.path("blobs"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s := stored{digest: e.Name(), size: info.Size()}
		if mark, err := os.Stat(c.path("used", s.digest)); err == nil {
			s.used = mark.ModTime()
		}
		total += s.size
		all = append(all, s)
		return nil
	})
	c.bytes.Store(total)
	c.added.Store(0)
	return all, err
}

// surveys is how often a process looks at all files of the cache while it fills it to its limit. A
// look for each new file would take most of the time of a repository of many small files.
const surveys = 64

// makeRoom removes unused files until the limit leaves room for more bytes. What other processes have
// added since the last survey is not seen: each may exceed the limit by a 64th of it.
func (c *Cache) makeRoom(ctx context.Context, more int64) {
	limit := c.opts.Limit
	if limit <= 0 {
		return
	}
	if c.bytes.Load()+more <= limit && c.added.Load()+more <= limit/surveys {
		return
	}
	c.evict(ctx, func(total int64) bool { return total+more > limit })
	over := c.bytes.Load()+more > limit
	if over && !c.full.Swap(over) {
		c.opts.Log.Warn(fmt.Sprintf("the cache of remote repositories needs more than its limit of %d bytes: the models in use are larger; raise --repository-cache-size", limit))
	}
	c.full.Store(over)
}

// evict removes files that no process uses, the least recently used first, while the total of all
// files is too much. It returns the number of bytes that it removed.
func (c *Cache) evict(ctx context.Context, tooMuch func(total int64) bool) int64 {
	unlock, err := c.exclusive(ctx)
	if err != nil {
		return 0
	}
	defer unlock()
	all, err := c.survey()
	if err != nil || !tooMuch(c.bytes.Load()) {
		return 0
	}
	held, err := c.heldByAll()
	if err != nil {
		return 0
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(all[i].used.Compare(all[j].used), cmp.Compare(all[i].digest, all[j].digest)) < 0
	})
	freed := int64(0)
	for _, s := range all {
		if !tooMuch(c.bytes.Load()) {
			break
		}
		if held[s.digest] || os.Remove(c.path("blobs", s.digest[:min(2, len(s.digest))], s.digest)) != nil {
			continue
		}
		_ = os.Remove(c.path("used", s.digest))
		c.bytes.Add(-s.size)
		c.evicts.Add(1)
		freed += s.size
	}
	if freed > 0 {
		c.dropKeys()
	}
	return freed
}

// dropKeys removes the keys whose content is gone.
func (c *Cache) dropKeys() {
	_ = filepath.WalkDir(c.path("keys"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // a key that cannot be read is a miss
		}
		digest, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if _, err := os.Stat(c.blobPath(string(digest))); !isDigest(string(digest)) || err != nil {
			_ = os.Remove(path)
		}
		return nil
	})
}
