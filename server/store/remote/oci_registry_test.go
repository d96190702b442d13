package remote_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
)

// fakeRegistry is the part of a registry that is pulled from, with tokens if it has a password.
type fakeRegistry struct {
	*httptest.Server
	password string

	mu        sync.Mutex
	blobs     map[string][]byte // by digest
	manifests map[string][]byte // by tag and digest
	lie       map[string]bool   // digests whose content has a flipped byte
}

func newRegistry(t testing.TB, password string) *fakeRegistry {
	t.Helper()
	r := &fakeRegistry{password: password, blobs: map[string][]byte{}, manifests: map[string][]byte{}, lie: map[string]bool{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *fakeRegistry) host() string { return strings.TrimPrefix(r.URL, "http://") }

func (r *fakeRegistry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.URL.Path == "/token" {
		user, password, _ := q.BasicAuth()
		if user != "me" || password != r.password || q.URL.Query().Get("scope") != "repository:team/models:pull" {
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"wrong password"}]}`, http.StatusUnauthorized)
			return
		}
		json.NewEncoder(w).Encode(map[string]string{"token": "pass"})
		return
	}
	if r.password != "" && q.Header.Get("Authorization") != "Bearer pass" {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="registry",scope="repository:team/models:pull"`, "http://"+q.Host))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/v2/team/models/"), "/")
	r.mu.Lock()
	text, found := r.blobs[name]
	if kind == "manifests" {
		text, found = r.manifests[name]
	}
	if r.lie[name] {
		text = bytes.Clone(text)
		text[len(text)/2] ^= 1
	}
	r.mu.Unlock()
	if !found {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if kind == "manifests" {
		var m struct{ MediaType string }
		json.Unmarshal(text, &m)
		w.Header().Set("Content-Type", m.MediaType)
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(text).String())
	}
	http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(text))
}

func (r *fakeRegistry) blob(mediaType string, text []byte, annotations ...string) ocispec.Descriptor {
	sum := sha256.Sum256(text)
	d := ocispec.Descriptor{MediaType: mediaType, Size: int64(len(text)), Digest: digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(sum[:]))}
	for pair := range slices.Chunk(annotations, 2) {
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		d.Annotations[pair[0]] = pair[1]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[d.Digest.String()] = text
	return d
}

// put stores a manifest or index under its digest and the tags.
func (r *fakeRegistry) put(t testing.TB, document any, tags ...string) ocispec.Descriptor {
	t.Helper()
	text, err := json.Marshal(document)
	require.NoError(t, err)
	var m struct{ MediaType string }
	require.NoError(t, json.Unmarshal(text, &m))
	d := ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(text), Size: int64(len(text))}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tag := range append(tags, d.Digest.String()) {
		r.manifests[tag] = text
	}
	return d
}

// artifact stores an artifact whose layers are files.
func (r *fakeRegistry) artifact(t testing.TB, files map[string]string, tags ...string) ocispec.Descriptor {
	t.Helper()
	var layers []ocispec.Descriptor
	for _, name := range slices.Sorted(maps.Keys(files)) {
		layers = append(layers, r.blob("application/octet-stream", []byte(files[name]), ocispec.AnnotationTitle, name))
	}
	return r.put(t, manifest(r.blob("application/vnd.oci.empty.v1+json", []byte("{}")), layers...), tags...)
}

func manifest(config ocispec.Descriptor, layers ...ocispec.Descriptor) ocispec.Manifest {
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: layers}
	m.SchemaVersion = 2
	return m
}

// image stores an image whose layers are tar archives.
func (r *fakeRegistry) image(t testing.TB, labels map[string]string, layers ...[]byte) ocispec.Manifest {
	t.Helper()
	config, err := json.Marshal(ocispec.Image{Config: ocispec.ImageConfig{Labels: labels}})
	require.NoError(t, err)
	var all []ocispec.Descriptor
	for _, l := range layers {
		all = append(all, r.blob(ocispec.MediaTypeImageLayerGzip, gzipped(t, l)))
	}
	return manifest(r.blob(ocispec.MediaTypeImageConfig, config), all...)
}

func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}
