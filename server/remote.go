package server

import (
	"cmp"
	"errors"
	"os"
	"sort"
	"sync"

	"triton/pkg/status"
	"triton/server/repository"
	"triton/server/store"
	"triton/server/store/mirror"
	"triton/server/store/remote"
	"triton/server/store/remote/unpack"
)

// Remote configures repository paths on other machines.
type Remote struct {
	// CacheDirectory keeps downloaded files. It is made when the first such path is opened.
	CacheDirectory string
	// CacheSize is the number of bytes above which files that nothing uses are removed; 0: none are.
	CacheSize int64
	// Getenv returns variables with credentials and endpoints; nil: there are none.
	Getenv func(name string) string
	// Download configures requests; the zero value is the default.
	Download mirror.DownloadOptions
	// Offline starts from the files of an earlier process while a store cannot be reached. With a
	// PublicKey it has no effect: what was checked then may not be trusted now.
	Offline bool
	// PublicKey refuses archives and images without its signature; nil: signatures are not checked.
	PublicKey *remote.PublicKey
	// Unpack bounds what archives and images contain; the zero value is the default.
	Unpack unpack.Limits
}

// remotes opens remote repository paths. They share a cache.
type remotes struct {
	opts *Options

	mu      sync.Mutex
	cache   *mirror.Cache // nil: no path was remote so far
	mirrors map[string]*mirror.Mirror
	past    map[string]mirror.Stats // of the mirrors before those, of paths that were registered again
}

// open opens the place of a repository path.
func (r *remotes) open(path string) (store.Place, error) {
	if remote.Scheme(path) == "" {
		return store.OpenDir(path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.openCache(); err != nil {
		return nil, err
	}
	getenv := r.opts.Remote.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	// Each path has a downloader of its own: one that does not answer keeps all connections of it busy.
	d := mirror.NewDownloader(r.opts.Remote.Download)
	o := remote.Options{Key: r.opts.Remote.PublicKey, Limits: cmp.Or(r.opts.Remote.Unpack, unpack.DefaultLimits())}
	source, err := remote.Open(path, mirror.Env(getenv, r.opts.Log, r.cache, d), o)
	if err != nil {
		return nil, status.New(status.InvalidArg, "%w", err)
	}
	m := mirror.New(source, mirror.Options{
		Cache: r.cache, Download: d, Log: r.opts.Log, Offline: r.opts.Remote.Offline && r.opts.Remote.PublicKey == nil,
		// A poll goes on with the other paths.
		KeepLast: r.opts.Models.Control == repository.ControlPoll || r.opts.Models.Control == repository.ControlAuto,
	})
	if before := r.mirrors[path]; before != nil {
		r.past[path] = r.past[path].Plus(before.Stats())
	}
	r.mirrors[path] = m
	return m, nil
}

func (r *remotes) openCache() error {
	if r.cache != nil {
		return nil
	}
	dir := r.opts.Remote.CacheDirectory
	if dir == "" {
		return status.New(status.InvalidArg, "remote model repositories need a folder for downloaded files: set --repository-cache-directory")
	}
	c, err := mirror.OpenCache(mirror.CacheOptions{Dir: dir, Limit: r.opts.Remote.CacheSize, Log: r.opts.Log})
	if err != nil {
		return status.New(status.Internal, "%w; choose another folder with --repository-cache-directory", err)
	}
	r.cache, r.mirrors, r.past = c, map[string]*mirror.Mirror{}, map[string]mirror.Stats{}
	return nil
}

// stats returns the counters of all remote paths, sorted, and of the cache; nil without such paths.
func (r *remotes) stats() (all []mirror.Stats, cache *mirror.CacheStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return nil, nil
	}
	seen := map[string]int{}
	for path, m := range r.mirrors {
		s := r.past[path].Plus(m.Stats())
		if at, again := seen[s.Path]; again { // paths that differ in what is not shown
			s.Up = s.Up && all[at].Up
			all[at] = all[at].Plus(s)
			continue
		}
		seen[s.Path] = len(all)
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	c := r.cache.Stats()
	return all, &c
}

// close closes the cache. The places are closed, and no folder of them is in use.
func (r *remotes) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return nil
	}
	err := r.cache.Close()
	r.cache = nil
	if errors.Is(err, os.ErrNotExist) { // somebody has removed the folder
		return nil
	}
	return err
}
