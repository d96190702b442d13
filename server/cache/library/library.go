// Package library stores responses in a cache library: a libtritoncache_<name>.so that was built
// for Triton's server. It has the functions of the C API that such a library calls.
//
// Requests never depend on the library. A lookup that fails or takes too long is a miss, and a
// library that does not answer is not called for a while.
package library

import (
	"encoding/json"
	"log/slog"
	"time"

	"triton/pkg/sharedlib"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Options configure a Cache.
type Options struct {
	Name, Path string
	// Settings are those of the cache; the library gets them as a JSON object of strings.
	Settings map[string]string
	Pool     *tensor.Pool
	Log      *slog.Logger
	// Timeout bounds how long a request waits for the library; 0: one second.
	Timeout time.Duration
}

// FileName returns the name of the library of a cache.
func FileName(name string) string { return "libtritoncache_" + name + ".so" }

// Find returns the path of the library of a cache in a folder of caches.
func Find(dir, name string) (path string, found bool) {
	return sharedlib.Find(dir, name, FileName(name))
}

// NotFound returns the error for a cache whose library is missing. The text is Triton's.
func NotFound(dir, name string) error {
	return status.New(status.InvalidArg, "unable to find '%s' for cache. Searched: %s", FileName(name), dir)
}

// config returns the settings as a library reads them.
func config(settings map[string]string) (string, error) {
	if settings == nil {
		return "{}", nil
	}
	text, err := json.Marshal(settings)
	return string(text), err
}
