package repository

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
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
	err = filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(v.dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q ", name)
		return hashFile(h, path)
	})
	return string(h.Sum(nil)), err
}

// hashFile writes a file's size and content.
func hashFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.IsDir() { // a link to one
		return err
	}
	fmt.Fprintf(w, "%d\n", info.Size())
	_, err = io.Copy(w, f)
	return err
}
