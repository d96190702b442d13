package remote_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
	"triton/server/store/remote/unpack"
)

func openOCI(t testing.TB, env remote.Env, path string, o remote.Options) remote.Source {
	t.Helper()
	if o.Limits == (unpack.Limits{}) {
		o.Limits = unpack.DefaultLimits()
	}
	s, err := remote.Open(path, env, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.(remote.Closer).Close()) })
	return s
}

// TestArtifact: layers are files by their titles, and archives; only what is needed is downloaded.
func TestArtifact(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "")
	p := remotetest.NewProxy(t, r.URL)
	want := models()
	want["env/1/environment.tar.gz"] = string(gzipped(t, tarOf(t, map[string]string{"bin/python": "x"})))
	want["p/1/model.py"], want["q/1/model.py"], want["r/1/model.py"] = "p", "q", "r"
	layers := []ocispec.Descriptor{
		r.blob("application/octet-stream", []byte(want["m/config.pbtxt"]), ocispec.AnnotationTitle, "m/config.pbtxt"),
		r.blob("application/octet-stream", []byte(want["m/1/model.onnx"]), ocispec.AnnotationTitle, "m/1/model.onnx"),
		r.blob("application/vnd.cncf.model.weight.v1.raw", []byte("n"), "org.cncf.model.filepath", "n/1/model.onnx"),
		r.blob("application/gzip", []byte(want["env/1/environment.tar.gz"]), ocispec.AnnotationTitle, "env/1/environment.tar.gz"),
		r.blob("application/vnd.oci.image.layer.v1.tar+gzip", gzipped(t, tarOf(t, map[string]string{"p/1/model.py": "p"})), ocispec.AnnotationTitle, "p", "io.deis.oras.content.unpack", "true"),
		r.blob("application/vnd.cncf.model.weight.v1.tar", tarOf(t, map[string]string{"q/1/model.py": "q"}), "org.cncf.model.filepath", "q"),
		r.blob("application/x-tar", tarOf(t, map[string]string{"r/1/model.py": "r"})),
	}
	r.put(t, manifest(r.blob("application/vnd.oci.empty.v1+json", []byte("{}")), layers...), "v1")
	cache := t.TempDir()
	env := remotetest.CacheEnv(t, cache, nil)
	s := openOCI(t, env, "oci://"+p.Address+"/team/models:v1", remote.Options{})
	_, err := s.List(t.Context())
	require.NoError(t, err)
	require.Less(t, p.Bytes(), int64(20<<10), "a list downloads archives only")
	got, err := remotetest.Contents(t.Context(), env, s)
	require.NoError(t, err)
	require.Equal(t, want, got)

	before := p.Bytes()
	again := remotetest.CacheEnv(t, cache, nil)
	got, err = remotetest.Contents(t.Context(), again, openOCI(t, again, "oci://"+p.Address+"/team/models:v1", remote.Options{}))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, before, p.Bytes(), "a restart asks for the digest of the tag only")
}

// TestImage: the repository is a folder of the unpacked layers, for this platform.
func TestImage(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "")
	base := tarOf(t, map[string]string{"etc/passwd": "root", "models/m/1/x": "m1", "models/n/1/x": "n1"})
	upper := tarOf(t, map[string]string{"models/.wh.n": "", "models/m/2/x": "m2"})
	want := map[string]string{"m/1/x": "m1", "m/2/x": "m2"}
	other := r.put(t, r.image(t, nil, tarOf(t, map[string]string{"models/wrong/1/x": ""})))
	other.Platform = &ocispec.Platform{OS: "linux", Architecture: "s390x"}
	here := r.put(t, r.image(t, map[string]string{remote.PathAnnotation: "/models"}, base, upper), "label")
	here.Platform = &ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
	attestation := r.artifact(t, map[string]string{"x": "x"})
	attestation.Platform = &ocispec.Platform{OS: "unknown", Architecture: "unknown"}
	index := func(all ...ocispec.Descriptor) ocispec.Index {
		x := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: all}
		x.SchemaVersion = 2
		return x
	}
	r.put(t, index(other, here, attestation), "platforms")
	r.put(t, index(other), "foreign")
	lone := r.artifact(t, map[string]string{"m/1/x": "m1", "m/2/x": "m2"})
	r.put(t, index(lone), "lone")
	annotated := r.image(t, nil, base, upper)
	annotated.Annotations = map[string]string{remote.PathAnnotation: "models"}
	d := r.put(t, annotated, "annotation")
	r.put(t, r.image(t, nil, base, upper), "plain")
	for path, reason := range map[string]string{
		":label": "", ":annotation": "", ":platforms": "", ":lone": "", ":plain?path=/models": "", "@" + d.Digest.String(): "",
		":foreign":           "no image for linux/" + runtime.GOARCH + ", only for linux/s390x",
		":plain?path=/other": "there are no files in it below /other",
		":none":              "404 Not Found",
	} {
		env := remotetest.CacheEnv(t, t.TempDir(), nil)
		got, err := remotetest.Contents(t.Context(), env, openOCI(t, env, "oci://"+r.host()+"/team/models"+path, remote.Options{}))
		if reason != "" {
			require.ErrorIs(t, err, remote.ErrNotFound)
			require.ErrorContains(t, err, reason)
			continue
		}
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
}

// TestTagOfImage: a poll sees that a tag is another image now.
func TestTagOfImage(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "")
	r.artifact(t, map[string]string{"a/1/x": "a1", "b/1/x": "b1"}, "latest")
	env := remotetest.CacheEnv(t, t.TempDir(), nil)
	s := openOCI(t, env, "oci://"+r.host()+"/team/models", remote.Options{})
	require.Equal(t, "oci://"+r.host()+"/team/models:latest", s.String())
	old, err := s.List(t.Context())
	require.NoError(t, err)
	r.artifact(t, map[string]string{"a/1/x": "a1", "b/1/x": "b2"}, "latest")
	now, err := s.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, old[0], now[0])
	require.NotEqual(t, old[1].Tag, now[1].Tag)
	_, err = s.Open(t.Context(), "b/1/x", old[1].Tag, 0, 2)
	require.ErrorIs(t, err, remote.ErrChanged)
}

// TestFaultsOfImages: a download survives each fault of the network. A digest finds each flipped byte.
func TestFaultsOfImages(t *testing.T) {
	t.Parallel()
	want := models()
	for _, fault := range remotetest.Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t, "")
			r.artifact(t, want, "v1")
			p := remotetest.NewProxy(t, r.URL)
			p.Set(remotetest.Rule{Fault: fault, After: 100_000, Times: 2, Match: func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/") }})
			env := remotetest.CacheEnv(t, t.TempDir(), nil)
			s := openOCI(t, env, "oci://"+p.Address+"/team/models:v1", remote.Options{})
			got, err := remotetest.Contents(t.Context(), env, s)
			if fault == remotetest.Flip {
				require.ErrorContains(t, err, "SHA-256")
				p.Set(remotetest.Rule{})
				got, err = remotetest.Contents(t.Context(), env, s)
			}
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

// TestRefusedImages: digests are verified always, and what is no repository is refused with the reason.
func TestRefusedImages(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "")
	d := r.artifact(t, map[string]string{"m/1/x": "x"}, "v1")
	r.mu.Lock()
	r.lie[d.Digest.String()] = true
	r.mu.Unlock()
	empty := r.blob("application/vnd.oci.empty.v1+json", []byte("{}"))
	r.put(t, manifest(empty, r.blob("application/octet-stream", []byte("x"))), "untitled")
	r.put(t, manifest(empty, r.blob("application/octet-stream", []byte("x"), ocispec.AnnotationTitle, "../../x")), "hostile")
	r.put(t, r.image(t, nil, tarOf(t, map[string]string{"models/../../x": "x"})), "image")
	r.put(t, map[string]any{"mediaType": "application/vnd.docker.distribution.manifest.v1+json"}, "old")
	weak := r.blob("application/octet-stream", []byte("x"), ocispec.AnnotationTitle, "x")
	weak.Digest = "md5:9dd4e461268c8034f5c8564e155c67a6"
	r.put(t, manifest(empty, weak), "weak")
	for path, reason := range map[string]string{
		"@" + d.Digest.String(): "the manifest " + d.Digest.String() + " has the digest",
		":untitled":             "has no annotation org.opencontainers.image.title",
		":hostile":              `entry "../../x" leads out`,
		":image":                "leads out of the archive",
		":old":                  "is neither an image nor an artifact",
		":weak":                 "has no SHA-256 digest",
	} {
		env := remotetest.CacheEnv(t, t.TempDir(), nil)
		_, err := openOCI(t, env, "oci://"+r.host()+"/team/models"+path, remote.Options{}).List(t.Context())
		require.ErrorIs(t, err, remote.ErrRefused, path)
		require.ErrorContains(t, err, reason)
	}
}

// TestCredentialsOfImages: those of Docker's configuration, in the file or from a helper.
func TestCredentialsOfImages(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "geheim")
	want := map[string]string{"m/1/x": "x"}
	r.artifact(t, want, "v1")
	folder := func(config string) string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
		return dir
	}
	auths := func(password string) string {
		return fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, r.host(), base64.StdEncoding.EncodeToString([]byte("me:"+password)))
	}
	home := t.TempDir()
	require.NoError(t, os.Rename(folder(auths("geheim")), filepath.Join(home, ".docker")))
	for name, test := range map[string]struct {
		variables map[string]string
		reason    string
	}{
		"DOCKER_CONFIG": {map[string]string{"DOCKER_CONFIG": folder(auths("geheim"))}, ""},
		"home":          {map[string]string{"HOME": home}, ""},
		"wrong":         {map[string]string{"DOCKER_CONFIG": folder(auths("falsch"))}, "access denied"},
		"none":          {map[string]string{"DOCKER_CONFIG": folder("{}")}, "access denied"},
		"no home":       {nil, "access denied"},
	} {
		env := remotetest.CacheEnv(t, t.TempDir(), test.variables)
		got, err := remotetest.Contents(t.Context(), env, openOCI(t, env, "oci://"+r.host()+"/team/models:v1", remote.Options{}))
		if test.reason != "" {
			require.ErrorIs(t, err, remote.ErrDenied, name)
			require.ErrorContains(t, err, test.reason)
			require.NotContains(t, err.Error(), "falsch")
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, want, got)
	}
	_, err := remote.Open("oci://"+r.host()+"/team/models:v1", remotetest.CacheEnv(t, t.TempDir(), map[string]string{"DOCKER_CONFIG": folder("{")}), remote.Options{})
	require.ErrorContains(t, err, "reading Docker's configuration")
}

// TestCredentialHelper: a credential helper is asked for the registry.
func TestCredentialHelper(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	r := newRegistry(t, "geheim")
	r.artifact(t, map[string]string{"m/1/x": "x"}, "v1")
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nread server\n[ \"$1 $server\" = \"get %s\" ] && echo '{\"ServerURL\":\"%s\",\"Username\":\"me\",\"Secret\":\"geheim\"}'\n", r.host(), r.host())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte(script), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"credHelpers": {%q: "test"}}`, r.host()), 0o600))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	env := remotetest.CacheEnv(t, t.TempDir(), map[string]string{"DOCKER_CONFIG": dir})
	got, err := remotetest.Contents(t.Context(), env, openOCI(t, env, "oci://"+r.host()+"/team/models:v1", remote.Options{}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"m/1/x": "x"}, got)
}

// TestSignatureOfImages: with a key, only images that it signed are read, in the form of `cosign sign --key`.
func TestSignatureOfImages(t *testing.T) {
	t.Parallel()
	key, signed := remotetest.NewSigner(t)
	r := newRegistry(t, "")
	sign := func(d ocispec.Descriptor, about string, change func(text []byte)) {
		text, err := json.Marshal(map[string]any{"critical": map[string]any{
			"identity": map[string]string{"docker-reference": "registry/team/models"},
			"image":    map[string]string{"docker-manifest-digest": about}, "type": "cosign container image signature",
		}})
		require.NoError(t, err)
		sig := signed(text)
		if change != nil {
			change(text)
		}
		layer := r.blob("application/vnd.dev.cosign.simplesigning.v1+json", text, "dev.cosignproject.cosign/signature", string(sig))
		r.put(t, manifest(r.blob(ocispec.MediaTypeImageConfig, []byte("{}")), layer), strings.Replace(d.Digest.String(), ":", "-", 1)+".sig")
	}
	good := r.artifact(t, map[string]string{"m/1/x": "good"}, "good")
	sign(good, good.Digest.String(), nil)
	other := r.artifact(t, map[string]string{"m/1/x": "other"}, "other")
	sign(other, good.Digest.String(), nil)
	changed := r.artifact(t, map[string]string{"m/1/x": "changed"}, "changed")
	sign(changed, good.Digest.String(), func(text []byte) {
		copy(text[strings.Index(string(text), "sha256:"):], changed.Digest.String())
	})
	r.artifact(t, map[string]string{"m/1/x": "none"}, "none")
	none := r.artifact(t, map[string]string{"m/1/x": "empty"}, "empty")
	r.put(t, manifest(r.blob(ocispec.MediaTypeImageConfig, []byte("{}"))), strings.Replace(none.Digest.String(), ":", "-", 1)+".sig")
	cache := t.TempDir()
	for tag, reason := range map[string]string{
		"good": "", "none": "a public key is set, and the registry has no signature of", "other": "the signed document is about " + good.Digest.String(),
		"changed": "the signature is not valid", "empty": "there is none",
	} {
		env := remotetest.CacheEnv(t, cache, nil)
		path := "oci://" + r.host() + "/team/models:" + tag
		_, err := openOCI(t, env, path, remote.Options{}).List(t.Context())
		require.NoError(t, err, "without a key nothing is checked")
		_, err = openOCI(t, env, path, remote.Options{Key: key}).List(t.Context())
		if reason == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, remote.ErrRefused)
		require.ErrorContains(t, err, reason)
	}
}

// TestOtherDigest: an index cannot name a manifest by a digest that is not verified.
func TestOtherDigest(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, "")
	name := "sha512:" + strings.Repeat("0", 128)
	r.manifests[name] = []byte("{}")
	r.put(t, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{{Digest: digest.Digest(name)}}}, "v1")
	s, err := remote.Open("oci://"+r.host()+"/team/models:v1", remotetest.CacheEnv(t, t.TempDir(), nil), remote.Options{Limits: unpack.DefaultLimits()})
	require.NoError(t, err)
	_, err = s.List(t.Context())
	require.ErrorIs(t, err, remote.ErrRefused)
	require.ErrorContains(t, err, "only digests with SHA-256")
}

// TestPathsOfImages: what is no path of an image is an error when it is opened.
func TestPathsOfImages(t *testing.T) {
	t.Parallel()
	remotetest.CheckRefused(t, map[string]string{
		"oci://":                        "has the form oci://registry/name:tag",
		"oci://registry":                "has the form",
		"oci://registry/Name:tag":       "has the form",
		"oci://registry/name@sha256:12": "has the form",
		"oci://me:" + remotetest.Secret + "@registry/name:tag":   "no user and no password",
		"oci://registry/name@sha512:" + strings.Repeat("0", 128): "only digests with SHA-256",
		"oci://registry/name:tag?folder=x":                       `unknown setting "folder"`,
		"oci://registry/name:tag?plain=2":                        "plain must be true or false",
		"oci://registry/name:tag?path=%zzz":                      "cannot be parsed",
	}, func(path string) (remote.Source, error) {
		return remote.Open(path, remotetest.CacheEnv(t, t.TempDir(), nil), remote.Options{})
	})
}
