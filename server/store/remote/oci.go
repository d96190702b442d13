// The source of model repositories in container registries: oci://registry/name:tag or @sha256:<digest>,
// of an artifact whose layers are files or archives, or of an image that has the repository in a
// folder. A poll asks only which digest the tag has.

package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

func openOCI(path string, env Env, o Options) (Source, error) {
	at, err := parseOCI(path)
	if err != nil {
		return nil, err
	}
	s := &ociSource{opts: o, env: env, plain: newWebClient()}
	client := &auth.Client{Client: s.plain, Cache: auth.NewCache()}
	client.SetUserAgent("triton")
	if client.Credential, err = dockerCredentials(env); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	s.ociRepository = &ociRepository{at, client}
	s.packed = &packedRepository{Env: env, Parts: s.ociRepository, Limits: o.Limits}
	return s, nil
}

// dockerCredentials returns the credentials of Docker's configuration: its file, and the helpers that
// it names.
func dockerCredentials(env Env) (auth.CredentialFunc, error) {
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

type ociSource struct {
	*ociRepository
	opts   Options
	env    Env
	plain  *http.Client
	packed *packedRepository
}

// List returns the files of the image or artifact.
func (s *ociSource) List(ctx context.Context) ([]Object, error) {
	digest := s.at.pinned()
	if digest == "" {
		var err error
		if digest, err = s.resolve(ctx); err != nil {
			return nil, err
		}
	}
	return s.packed.List(ctx, packedVersion{
		ID:       fmt.Sprintf("oci %s platform %s key %s folder %s", digest, ociPlatform, s.opts.Key.ID(), s.at.within),
		Contents: func(ctx context.Context) (contents, error) { return s.contents(ctx, digest) },
	})
}

// Open reads a file that the cache does not have.
func (s *ociSource) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	return s.packed.Open(ctx, name, tag, offset, length)
}

// Close closes idle connections.
func (s *ociSource) Close() error {
	s.plain.CloseIdleConnections()
	return nil
}
