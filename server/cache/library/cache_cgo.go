//go:build cgo && linux

package library

/*
#cgo CFLAGS: -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../capi/include
#cgo LDFLAGS: -Wl,--export-dynamic -lpthread
#include <stdlib.h>
#include "host.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"triton/pkg/sharedlib"
	"triton/pkg/status"
	"triton/server/cache"
	_ "triton/server/capi" // has the functions for errors, attributes and metrics that libraries call
	"triton/server/infer"
)

// Cache is a cache in a library.
type Cache struct {
	opts    Options
	native  *C.struct_trt_cache
	breaker *cache.Breaker
	jobs    chan *job // to workers that wait
	// initialized reports that the library has made its cache in time.
	initialized bool

	mu      sync.Mutex
	closed  bool
	workers []*worker
	running sync.WaitGroup // workers, and the initialization
	made    bool           // what the library has made is to be finalized; set while running
	stop    chan struct{}
}

var _ cache.Cache = (*Cache)(nil)

// Bounds of the calls of the library.
const (
	// maxWorkers is the number of calls at the same time, each of which keeps a thread. One that never
	// returns keeps it for ever.
	maxWorkers = 128
	// Check waits no longer than startTime, and Close no longer than endTime.
	startTime = time.Minute
	endTime   = 10 * time.Second
)

// Open opens a library. Check initializes its cache.
func Open(o Options) (*Cache, error) {
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	native, err := open(o.Path)
	if err != nil {
		return nil, err
	}
	return &Cache{
		opts: o, native: native, breaker: cache.NewBreaker(o.Log, "cache library '"+o.Name+"'"),
		jobs: make(chan *job), stop: make(chan struct{}),
	}, nil
}

// Check initializes the cache in the library, and returns the library's error if that fails. It is
// called once, before Lookup and Insert.
func (c *Cache) Check(ctx context.Context) error {
	settings, err := config(c.opts.Settings)
	if err != nil {
		return status.New(status.InvalidArg, "the settings of cache '%s': %w", c.opts.Name, err)
	}
	c.opts.Log.Info(fmt.Sprintf("Creating TritonCache with name: '%s', libpath: '%s'", c.opts.Name, c.opts.Path))
	c.running.Add(1) // Close waits for it, also if Check does not
	ready, err := within(ctx, startTime, func() error {
		defer c.running.Done()
		return c.initialize(settings)
	})
	switch {
	case ready:
		c.initialized = err == nil
		return err
	case ctx.Err() != nil:
		return status.New(status.Unavailable, "cache library '%s' did not initialize its cache: %w", c.opts.Name, context.Cause(ctx))
	}
	return status.New(status.Unavailable, "cache library '%s' did not initialize its cache within %s", c.opts.Name, startTime)
}

// initialize lets the library make its cache.
func (c *Cache) initialize(settings string) error {
	text := C.CString(settings)
	defer C.free(unsafe.Pointer(text))
	var code C.int
	var message *C.char
	err := failure(C.trt_cache_initialize(c.native, text, &code, &message), code, message)
	if err == nil && c.native.instance == nil {
		err = status.New(status.Internal, "Failed to initialize cache implementation")
	}
	c.made = err == nil
	return err
}

// within calls do on another goroutine and waits for it, for a time. It reports whether do returned.
func within(ctx context.Context, limit time.Duration, do func() error) (returned bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return true, err
	case <-ctx.Done():
		return false, nil
	}
}

// open opens a library and finds its functions.
func open(path string) (*C.struct_trt_cache, error) {
	l, err := sharedlib.Open(path)
	if err != nil {
		return nil, err
	}
	native := (*C.struct_trt_cache)(C.calloc(1, C.sizeof_struct_trt_cache))
	for _, f := range []struct {
		name string
		at   *unsafe.Pointer
	}{
		{"TRITONCACHE_CacheInitialize", &native.initialize},
		{"TRITONCACHE_CacheFinalize", &native.finalize},
		{"TRITONCACHE_CacheLookup", &native.lookup},
		{"TRITONCACHE_CacheInsert", &native.insert},
	} {
		if *f.at, err = l.Require(f.name); err != nil {
			C.free(unsafe.Pointer(native))
			return nil, err
		}
	}
	return native, nil
}

// failure makes an error of the result of a call, and frees its message.
func failure(result, code C.int, message *C.char) error {
	if result != C.TRT_CACHE_ERROR {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return status.New(status.Code(code), "%s", C.GoString(message))
}

// Lookup asks the library, unless it has not answered recently.
func (c *Cache) Lookup(ctx context.Context, k cache.Key, into *infer.Response) bool {
	if !c.initialized || !c.breaker.Allows() {
		return false
	}
	j := newJob(k)
	if !c.do(ctx, j, "lookup") {
		return false
	}
	defer j.release()
	if j.err != nil {
		c.breaker.Report("lookup", j.err)
		return false
	}
	if j.value == nil {
		return false
	}
	if err := cache.DecodeStored(j.value, into); err != nil {
		into.Reset()
		c.breaker.Report("lookup", err)
		return false
	}
	return true
}

// Insert gives the library a copy of a response, and waits until the library has it or the timeout
// ends.
func (c *Cache) Insert(k cache.Key, resp *infer.Response) error {
	if !c.initialized || c.breaker.Open() {
		return nil // logged already
	}
	n := cache.StoredSize(resp)
	value, err := c.opts.Pool.TryGet(n)
	if err != nil {
		return status.New(status.Unavailable, "no memory to store a response: %w", err)
	}
	cache.AppendStored(value.Bytes()[:0], resp)
	j := newJob(k)
	j.insert, j.value = true, value
	if !c.do(context.Background(), j, "insert") {
		return nil // logged
	}
	defer j.release()
	return j.err
}

var (
	errSlow = errors.New("the library has not answered within the timeout")
	errBusy = errors.New("too many calls of the library are under way")
	errGone = errors.New("the cache is closed")
	errBare = errors.New("the library reported success without a call of TRITONCACHE_Copy")
)

// Close finalizes the cache in the library, once all calls have returned. If they do not, the
// library is left as it is.
func (c *Cache) Close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	close(c.stop)
	ended, err := within(context.Background(), endTime, c.finalize)
	switch {
	case !ended:
		return status.New(status.Unavailable, "cache library '%s' did not end within %s; it is left running", c.opts.Name, endTime)
	case err != nil:
		return fmt.Errorf("failed finalizing cache: %w", err)
	}
	return nil
}

// finalize waits until all calls have returned and finalizes the cache in the library.
func (c *Cache) finalize() error {
	c.running.Wait()
	var code C.int
	var message *C.char
	var err error
	if c.made {
		err = failure(C.trt_cache_finalize(c.native, &code, &message), code, message)
	}
	for _, w := range c.workers {
		w.handle.Delete()
		for _, call := range w.calls {
			C.trt_cache_call_end(call)
		}
	}
	C.free(unsafe.Pointer(c.native))
	return err
}
