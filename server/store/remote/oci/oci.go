// Package oci is the remote.Source of model repositories in container registries:
// oci://registry/name:tag or @sha256:<digest>, of an artifact whose layers are files or archives,
// or of an image that has the repository in a folder. A poll asks only which digest the tag has.
package oci

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"triton/server/store/remote"
	"triton/server/store/remote/packed"
	"triton/server/store/remote/signature"
	"triton/server/store/remote/unpack"
	"triton/server/store/remote/webget"
)

// Options configure the sources.
type Options struct {
	// Key refuses images and artifacts without its signature, as `cosign sign --key` puts it into
	// the registry; nil: signatures are not checked.
	Key    *signature.Key
	Limits unpack.Limits
}

// Opener returns the opener of the scheme oci.
func Opener(o Options) remote.Opener {
	return func(path string, env remote.Env) (remote.Source, error) {
		at, err := parse(path)
		if err != nil {
			return nil, err
		}
		s := &source{opts: o, env: env, plain: webget.NewClient()}
		client := &auth.Client{Client: s.plain, Cache: auth.NewCache()}
		client.SetUserAgent("triton")
		if client.Credential, err = credentialsOf(env); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		s.repository = &repository{at, client}
		s.packed = &packed.Repository{Env: env, Parts: s.repository, Limits: o.Limits}
		return s, nil
	}
}

// credentialsOf returns the credentials of Docker's configuration: its file, and the helpers that
// it names.
func credentialsOf(env remote.Env) (auth.CredentialFunc, error) {
	dir := env.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home := env.Getenv("HOME")
		if home == "" {
			return nil, nil
		}
		dir = filepath.Join(home, ".docker")
	}
	store, err := credentials.NewStore(filepath.Join(dir, "config.json"), credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading Docker's configuration: %w", err)
	}
	return credentials.Credential(store), nil
}

type source struct {
	*repository
	opts   Options
	env    remote.Env
	plain  *http.Client
	packed *packed.Repository
}

// List returns the files of the image or artifact.
func (s *source) List(ctx context.Context) ([]remote.Object, error) {
	digest := s.at.pinned()
	if digest == "" {
		var err error
		if digest, err = s.resolve(ctx); err != nil {
			return nil, err
		}
	}
	return s.packed.List(ctx, packed.Version{
		ID:       fmt.Sprintf("oci %s platform %s key %s folder %s", digest, here, s.opts.Key.ID(), s.at.within),
		Contents: func(ctx context.Context) (packed.Contents, error) { return s.contents(ctx, digest) },
	})
}

// Open reads a file that the cache does not have.
func (s *source) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	return s.packed.Open(ctx, name, tag, offset, length)
}

// Close closes idle connections.
func (s *source) Close() error {
	s.plain.CloseIdleConnections()
	return nil
}
