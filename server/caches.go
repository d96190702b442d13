package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"triton/pkg/status"
	"triton/server/cache"
	"triton/server/cache/library"
	"triton/server/cache/redis"
)

// openCache makes the response cache that the options name: one of this program, or one in a
// library.
func (s *Server) openCache() error {
	o := &s.opts.Cache
	own := o.Name == "local" || o.Name == "redis"
	path, found := library.Find(o.Directory, o.Name)
	var err error
	switch {
	case o.Name == "":
	case found && (o.PreferLibrary || !own):
		s.cache, err = library.Open(library.Options{Name: o.Name, Path: path, Settings: o.Settings, Pool: s.pool, Log: s.opts.Log})
	case o.Name == "local":
		var size int64
		if size, err = localSize(o.Settings); err == nil {
			s.cache = cache.NewLocal(size, s.pool)
		}
	case o.Name == "redis":
		s.cache, err = redis.New(o.Settings, s.opts.Log)
	default:
		err = library.NotFound(o.Directory, o.Name)
	}
	if err != nil {
		s.cache = nil // not a pointer that is nil
		return fmt.Errorf("creating server: %w", consoleError{status.From(err)})
	}
	return nil
}

// checkedCache is a cache that may turn out not to work when it is started.
type checkedCache interface {
	// Check returns an error if the cache can never work.
	Check(ctx context.Context) error
}

// backgroundCache is a cache that needs work in the background.
type backgroundCache interface {
	// Run works until ctx ends.
	Run(ctx context.Context)
}

// startCache checks the cache and starts its background work, which closeCache ends.
func (s *Server) startCache(ctx context.Context) error {
	if c, ok := s.cache.(checkedCache); ok {
		if err := c.Check(ctx); err != nil {
			return fmt.Errorf("creating server: %w", consoleError{status.From(err)})
		}
	}
	b, ok := s.cache.(backgroundCache)
	if !ok {
		return nil
	}
	life, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.Run(life) })
	s.stopCache = func() {
		end()
		running.Wait()
	}
	return nil
}

func (s *Server) closeCache() error {
	if s.cache == nil {
		return nil
	}
	if s.stopCache != nil {
		s.stopCache()
	}
	return s.cache.Close()
}

// minLocalSize is the smallest size of a local cache in bytes; Triton's needs that much
// for itself.
const minLocalSize = 192

// localSize reads the size setting as C++'s stoull does: text after the number is
// ignored.
func localSize(settings map[string]string) (int64, error) {
	text, ok := settings["size"]
	if !ok {
		return 0, status.New(status.InvalidArg, "Failed to initialize LocalCache: config didn't contain a valid 'size' field.")
	}
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	end := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
	n, err := strconv.ParseUint(digits[:end], 10, 64)
	switch {
	case err != nil:
		return 0, status.New(status.Internal, "Failed to initialize LocalCache: stoull")
	case n > 1<<62 || n > 0 && strings.HasPrefix(text, "-"):
		return 0, status.New(status.Internal, "Failed to initialize LocalCache: failed to allocate buffer")
	case n < minLocalSize:
		return 0, status.New(status.Internal,
			"Failed to initialize LocalCache: Could not initialize buffer in basic_managed_external_buffer constructor")
	}
	return int64(n), nil
}
