package repository

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"triton/pkg/status"
	"triton/server/cache"
	"triton/server/infer"
)

// Caching is the response cache of a server; the zero value is none.
type Caching struct {
	Cache cache.Cache
	// Shared says that other servers use it too, and that it outlives this one.
	Shared bool
}

// singleFlight is the parameter of a model's configuration that makes equal
// requests wait for the one that is computed.
const singleFlight = "response_cache_single_flight"

// cached puts the response cache in front of a version's runner, if the server
// has one and the model asks for it.
func (r *Repository) cached(v *version, next infer.Runner) (infer.Runner, error) {
	if r.opts.Caching.Cache == nil || !v.config.GetResponseCache().GetEnable() {
		return next, nil
	}
	if v.config.GetModelTransactionPolicy().GetDecoupled() { // known of ensembles only now
		return nil, status.New(status.InvalidArg,
			"Response Cache does not currently support model %s with 'decoupled' transaction policy. Please disable the response cache.", v.model)
	}
	// Of this load: what another one answered is not found. An ensemble's parts
	// may be replaced at any time, and it with them.
	scope := rand.Text()
	if r.opts.Caching.Shared && v.group != nil {
		var err error
		if scope, err = fingerprint(v); err != nil {
			return nil, fmt.Errorf("reading model '%s' for the response cache: %w", v.label, err)
		}
	}
	return cache.New(next, cache.Options{
		Cache: r.opts.Caching.Cache, Scope: scope, Pool: v.pool, Stats: v.stats, Log: r.opts.Log,
		SingleFlight: v.config.GetParameters()[singleFlight].GetStringValue() == "true",
		Ordered:      v.config.GetDynamicBatching().GetPreserveOrdering(),
	}), nil
}

// fingerprint is a hash of a version's name, configuration and files: equal on
// all servers that have the same.
func fingerprint(v *version) (string, error) {
	config := proto.CloneOf(v.config)
	config.InstanceGroup, config.VersionPolicy = nil, nil // do not change answers
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(config)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", v.model, v.text, text)
	err = hashPath(h, v.dir, ".", maxNesting)
	return string(h.Sum(nil)), err
}

// hashPath writes the names, sizes and contents of all files at or below a path.
// Links are followed.
func hashPath(w io.Writer, path, name string, depth int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		fmt.Fprintf(w, "%q %d\n", name, info.Size())
		return hashFile(w, path)
	}
	if depth == 0 {
		return fmt.Errorf("%s: more than %d folders in each other", path, maxNesting)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if err == nil {
			err = hashPath(w, filepath.Join(path, e.Name()), name+"/"+e.Name(), depth-1)
		}
	}
	return err
}

func hashFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
