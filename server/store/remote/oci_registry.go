package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// Media types of Docker that mean the same as those of OCI.
const (
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
)

// manifestTypes are the types of manifests that are read.
var manifestTypes = strings.Join([]string{ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, dockerIndex, dockerManifest}, ", ")

// maxManifest is the limit that registries have for manifests.
const maxManifest = 4 << 20

// ociRepository makes the requests for one repository of a registry. It is the source of its blobs,
// whose names are digests.
type ociRepository struct {
	at     ociLocation
	client *auth.Client
}

// request returns a request with the scope of the token that it needs.
func (r *ociRepository) request(ctx context.Context, method, kind, name string) (*http.Request, error) {
	ctx = auth.AppendRepositoryScope(ctx, r.at.ref, auth.ActionPull)
	return http.NewRequestWithContext(ctx, method, r.at.address(kind, name), nil)
}

// manifest returns the manifest of a tag or digest, and its digest, which is verified.
func (r *ociRepository) manifest(ctx context.Context, reference string) (text []byte, digest, mediaType string, err error) {
	if strings.Contains(reference, ":") && !isOCIDigest(reference) { // a digest that would not be verified
		return nil, "", "", fmt.Errorf("%w: the manifest %s: only digests with SHA-256 are supported", ErrRefused, reference)
	}
	req, err := r.request(ctx, http.MethodGet, "manifests", reference)
	if err != nil {
		return nil, "", "", err
	}
	req.Header.Set("Accept", manifestTypes)
	text, header, err := getSmall(r.client, req, maxManifest)
	if err != nil {
		return nil, "", "", deniedByRegistry(err)
	}
	digest = digestOf(text)
	for _, want := range []string{reference, header.Get("Docker-Content-Digest")} {
		if strings.HasPrefix(want, "sha256:") && want != digest {
			return nil, "", "", fmt.Errorf("%w: the manifest %s has the digest %s", ErrRefused, want, digest)
		}
	}
	mediaType, _, _ = strings.Cut(header.Get("Content-Type"), ";")
	return text, digest, mediaType, nil
}

// resolve returns the digest that a tag has now, without the manifest where the registry allows it.
func (r *ociRepository) resolve(ctx context.Context) (string, error) {
	req, err := r.request(ctx, http.MethodHead, "manifests", r.at.ref.Reference)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", manifestTypes)
	_, header, err := getSmall(r.client, req, 0)
	if err != nil {
		return "", deniedByRegistry(err)
	}
	if digest := header.Get("Docker-Content-Digest"); isOCIDigest(digest) {
		return digest, nil
	}
	_, digest, _, err := r.manifest(ctx, r.at.ref.Reference)
	return digest, err
}

// deniedByRegistry marks the errors of the exchange of credentials for a token.
func deniedByRegistry(err error) error {
	if errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return fmt.Errorf("%w: %w; log in with `docker login`, or set DOCKER_CONFIG to the folder of the config.json with the credentials", ErrDenied, err)
	}
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return err
}

// List is not available: the names of blobs come from manifests.
func (r *ociRepository) List(context.Context) ([]Object, error) {
	return nil, errors.ErrUnsupported
}

// Open reads a range of a blob.
func (r *ociRepository) Open(ctx context.Context, digest, _ string, offset, length int64) (io.ReadCloser, error) {
	req, err := r.request(ctx, http.MethodGet, "blobs", digest)
	if err != nil {
		return nil, err
	}
	body, err := getRange(r.client, req, offset, length, "")
	if err != nil {
		return nil, deniedByRegistry(err)
	}
	return body, nil
}

func (r *ociRepository) String() string { return r.at.String() }

// blob returns a small blob, whose digest is verified.
func (r *ociRepository) blob(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	req, err := r.request(ctx, http.MethodGet, "blobs", d.Digest.String())
	if err != nil {
		return nil, err
	}
	text, _, err := getSmall(r.client, req, maxManifest)
	if err != nil {
		return nil, deniedByRegistry(err)
	}
	if got := digestOf(text); got != d.Digest.String() {
		return nil, fmt.Errorf("%w: the blob %s has the digest %s", ErrRefused, d.Digest, got)
	}
	return text, nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func isOCIDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	return ok && isSHA256(digits)
}
