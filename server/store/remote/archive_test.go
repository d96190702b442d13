package remote_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
	"triton/server/store/remote/unpack"
)

// models are the files of a repository; one is larger than the parts of a download.
func models() map[string]string {
	large := make([]byte, 700<<10)
	rand.Read(large) //nolint:errcheck // never fails
	return map[string]string{"m/config.pbtxt": "c", "m/1/model.onnx": string(large), "n/1/model.onnx": "n"}
}

func tarOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644}))
		_, err := io.WriteString(w, files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// forms returns a repository in all forms of archives.
func forms(t testing.TB, files map[string]string) map[string][]byte {
	t.Helper()
	plain := tarOf(t, files)
	var zipped, gzipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	for name, text := range files {
		f, err := z.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(f, text)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	g := gzip.NewWriter(&gzipped)
	_, err := g.Write(plain)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	s, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return map[string][]byte{"x.tar": plain, "x.tar.gz": gzipped.Bytes(), "x.tar.zst": s.EncodeAll(plain, nil), "x.zip": zipped.Bytes()}
}

// site is a folder on a web server, behind a proxy.
type site struct {
	dir   string
	proxy *remotetest.Proxy
}

func newSite(t testing.TB, handler func(dir string) http.Handler) site {
	t.Helper()
	dir := t.TempDir()
	s := httptest.NewServer(handler(dir))
	t.Cleanup(s.Close)
	return site{dir, remotetest.NewProxy(t, s.URL)}
}

func serveFiles(dir string) http.Handler { return http.FileServer(http.Dir(dir)) }

func (s site) put(t testing.TB, name string, text []byte) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

func openArchive(t testing.TB, env remote.Env, path string, o remote.Options) remote.Source {
	t.Helper()
	if o.Limits == (unpack.Limits{}) {
		o.Limits = unpack.DefaultLimits()
	}
	s, err := remote.Open(path, env, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.(remote.Closer).Close()) })
	return s
}

func sha256Of(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// TestFormsOfArchives: each form of archive has its files; a second process reads them from the cache and
// asks only whether the archive was changed, and one with the digest in the path asks nothing.
func TestFormsOfArchives(t *testing.T) {
	t.Parallel()
	want := models()
	for name, text := range forms(t, want) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t, serveFiles)
			at.put(t, name, text)
			cache := t.TempDir()
			for _, pinned := range []bool{false, true} {
				path := at.proxy.URL() + "/" + name
				if pinned {
					path += "#sha256=" + sha256Of(text)
				}
				env := remotetest.CacheEnv(t, cache, nil)
				got, err := remotetest.Contents(t.Context(), env, openArchive(t, env, path, remote.Options{}))
				require.NoError(t, err)
				require.Equal(t, want, got)

				before := at.proxy.Bytes()
				again := remotetest.CacheEnv(t, cache, nil)
				got, err = remotetest.Contents(t.Context(), again, openArchive(t, again, path, remote.Options{}))
				require.NoError(t, err)
				require.Equal(t, want, got)
				require.Less(t, at.proxy.Bytes()-before, int64(100), "nothing is downloaded again")
				if pinned {
					at.proxy.GoAway()
					last := remotetest.CacheEnv(t, cache, nil)
					_, err := remotetest.Contents(t.Context(), last, openArchive(t, last, path, remote.Options{}))
					require.NoError(t, err, "a path with a digest needs no server once it is in the cache")
				}
			}
		})
	}
}

// TestFaultsOfArchives: the download survives each fault of the network, and what arrives is the content.
func TestFaultsOfArchives(t *testing.T) {
	t.Parallel()
	want := models()
	text := forms(t, want)["x.tar.gz"]
	for _, fault := range remotetest.Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			at := newSite(t, serveFiles)
			at.put(t, "x.tar.gz", text)
			at.put(t, "x.tar.gz.sha256", []byte(sha256Of(text)+"  x.tar.gz\n"))
			env := remotetest.CacheEnv(t, t.TempDir(), nil)
			s := openArchive(t, env, at.proxy.URL()+"/x.tar.gz", remote.Options{})
			at.proxy.Set(remotetest.Rule{Fault: fault, After: 100_000, Times: 2, Match: func(r *http.Request) bool {
				return r.Header.Get("Range") != "bytes=0-0" && r.URL.Path == "/x.tar.gz"
			}})
			got, err := remotetest.Contents(t.Context(), env, s)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Positive(t, at.proxy.Injected())
		})
	}
}

// TestChangedArchive: a poll sees another archive, and files that stay the same keep their tags.
func TestChangedArchive(t *testing.T) {
	t.Parallel()
	at := newSite(t, serveFiles)
	at.put(t, "x.tar", tarOf(t, map[string]string{"a/1/x": "a1", "b/1/x": "b1"}))
	env := remotetest.CacheEnv(t, t.TempDir(), nil)
	s := openArchive(t, env, at.proxy.URL()+"/x.tar", remote.Options{})
	old, err := s.List(t.Context())
	require.NoError(t, err)
	at.put(t, "x.tar", tarOf(t, map[string]string{"a/1/x": "a1", "b/1/x": "b2", "c/1/x": "c1"}))
	require.NoError(t, os.Chtimes(filepath.Join(at.dir, "x.tar"), time.Time{}, time.Now().Add(time.Hour)))
	now, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, now, 3)
	require.Equal(t, old[0], now[0])
	require.NotEqual(t, old[1].Tag, now[1].Tag)
	_, err = s.Open(t.Context(), "b/1/x", old[1].Tag, 0, 2)
	require.ErrorIs(t, err, remote.ErrChanged)

	at.proxy.GoAway()
	_, err = s.List(t.Context())
	require.Error(t, err)
	at.proxy.ComeBack(t)
	again, err := s.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, now, again)
	require.NoError(t, os.Remove(filepath.Join(at.dir, "x.tar")))
	_, err = s.List(t.Context())
	require.ErrorIs(t, err, remote.ErrNotFound)
}

// TestEvictedArchive: files that the cache has removed are unpacked again.
func TestEvictedArchive(t *testing.T) {
	t.Parallel()
	want := models()
	for name, text := range forms(t, want) {
		at := newSite(t, serveFiles)
		at.put(t, name, text)
		cache := t.TempDir()
		env := remotetest.CacheEnv(t, cache, nil)
		s := openArchive(t, env, at.proxy.URL()+"/"+name+"#path=m", remote.Options{})
		got, err := remotetest.Contents(t.Context(), env, s)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"config.pbtxt": "c", "1/model.onnx": want["m/1/model.onnx"]}, got)
		require.NoError(t, os.Remove(filepath.Join(cache, "blobs", sha256Of([]byte(want["m/1/model.onnx"]))[:2], sha256Of([]byte(want["m/1/model.onnx"])))))
		again, err := remotetest.Contents(t.Context(), env, s)
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
}

// TestArchiveWithoutRanges: an archive from a server that sends no ranges, no length or no tag.
func TestArchiveWithoutRanges(t *testing.T) {
	t.Parallel()
	want := models()
	at := newSite(t, func(dir string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := os.ReadFile(filepath.Join(dir, r.URL.Path))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			for part := range slices.Chunk(text, 64<<10) { // chunks, so there is no length
				w.Write(part)
				w.(http.Flusher).Flush()
			}
		})
	})
	text := forms(t, want)["x.tar.zst"]
	at.put(t, "x.tar.zst", text)
	env := remotetest.CacheEnv(t, t.TempDir(), nil)
	path := at.proxy.URL() + "/x.tar.zst"
	got, err := remotetest.Contents(t.Context(), env, openArchive(t, env, path, remote.Options{}))
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = remotetest.Contents(t.Context(), env, openArchive(t, env, path+"#sha256="+sha256Of(text), remote.Options{}))
	require.NoError(t, err)
	require.Equal(t, want, got)
	wrong := strings.Repeat("0", 64)
	_, err = remotetest.Contents(t.Context(), env, openArchive(t, env, path+"#sha256="+wrong, remote.Options{}))
	require.ErrorIs(t, err, remote.ErrRefused)
	require.ErrorContains(t, err, "SHA-256 "+sha256Of(text)+" instead of "+wrong)
}

// TestRefusedArchives: wrong checksums, hostile archives and limits, with the reason; nothing is left in
// the cache.
func TestRefusedArchives(t *testing.T) {
	t.Parallel()
	at := newSite(t, serveFiles)
	text := tarOf(t, map[string]string{"m/1/x": "x"})
	at.put(t, "x.tar", text)
	at.put(t, "wrong.tar", text)
	at.put(t, "wrong.tar.sha256", []byte(strings.Repeat("0", 64)+" *wrong.tar\n"))
	at.put(t, "page.tar", text)
	at.put(t, "page.tar.sha256", []byte("<html>"))
	at.put(t, "hostile.tar", tarOf(t, map[string]string{"../x": "x"}))
	at.put(t, "empty.tar", tarOf(t, nil))
	at.put(t, "nothing.tar", nil)
	for path, reason := range map[string]string{
		"x.tar#sha256=" + strings.Repeat("0", 64): "SHA-256 " + sha256Of(text) + " instead of " + strings.Repeat("0", 64),
		"wrong.tar":       "SHA-256 " + sha256Of(text) + " instead of 000",
		"page.tar":        "page.tar.sha256 has no SHA-256 of the archive",
		"hostile.tar":     `refused: entry "../x" leads out of the archive`,
		"empty.tar":       "there are no files in it",
		"x.tar#path=none": "there are no files in it below /none",
		"nothing.tar":     "there are no files in it",
		"none.tar":        "404 Not Found",
	} {
		cache := t.TempDir()
		env := remotetest.CacheEnv(t, cache, nil)
		_, err := openArchive(t, env, at.proxy.URL()+"/"+path, remote.Options{}).List(t.Context())
		require.ErrorContains(t, err, reason)
		parts, err := filepath.Glob(filepath.Join(cache, "process", "*", "part-*"))
		require.NoError(t, err)
		require.Empty(t, parts)
	}
	env := remotetest.CacheEnv(t, t.TempDir(), nil)
	_, err := openArchive(t, env, at.proxy.URL()+"/x.tar", remote.Options{Limits: unpack.Limits{Bytes: 100, Entries: 10}}).List(t.Context())
	require.ErrorIs(t, err, remote.ErrRefused)
	require.ErrorContains(t, err, "more than 100 bytes, the limit")
}

// TestSignatureOfArchives: with a key, only signed archives are read.
func TestSignatureOfArchives(t *testing.T) {
	t.Parallel()
	key, sign := remotetest.NewSigner(t)
	at := newSite(t, serveFiles)
	text := tarOf(t, map[string]string{"m/1/x": "x"})
	cache := t.TempDir()
	for name, sig := range map[string][]byte{"good.tar": sign(text), "other.tar": sign([]byte("other")), "page.tar": []byte("<html>"), "none.tar": nil} {
		at.put(t, name, text)
		if sig != nil {
			at.put(t, name+".sig", sig)
		}
	}
	for name, reason := range map[string]string{
		"good.tar": "", "none.tar": "a public key is set, and there is no signature " + at.proxy.URL() + "/none.tar.sig",
		"other.tar": "other.tar.sig: the signature is not valid", "page.tar": "neither DER nor base64",
	} {
		env := remotetest.CacheEnv(t, cache, nil)
		_, err := openArchive(t, env, at.proxy.URL()+"/"+name+"#sha256="+sha256Of(text), remote.Options{}).List(t.Context())
		require.NoError(t, err, "without a key nothing is checked")
		_, err = openArchive(t, env, at.proxy.URL()+"/"+name, remote.Options{Key: key}).List(t.Context())
		if reason == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, remote.ErrRefused)
		require.ErrorContains(t, err, reason)
	}
}

// TestCredentialsOfArchives: user and password of the path are sent, and no error or name shows them.
func TestCredentialsOfArchives(t *testing.T) {
	t.Parallel()
	at := newSite(t, func(dir string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			if user != "me" || password != "geheim" || r.URL.Query().Get("token") != "verborgen" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			serveFiles(dir).ServeHTTP(w, r)
		})
	})
	at.put(t, "x.tar", tarOf(t, map[string]string{"m/1/x": "x"}))
	env := remotetest.CacheEnv(t, t.TempDir(), nil)
	good := openArchive(t, env, "http://me:geheim@"+at.proxy.Address+"/x.tar?token=verborgen", remote.Options{})
	got, err := remotetest.Contents(t.Context(), env, good)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"m/1/x": "x"}, got)
	require.Equal(t, "http://me:xxxxx@"+at.proxy.Address+"/x.tar", good.String())
	_, err = openArchive(t, env, "http://me:falsch@"+at.proxy.Address+"/x.tar?token=verborgen", remote.Options{}).List(t.Context())
	require.ErrorIs(t, err, remote.ErrDenied)
	require.NotContains(t, err.Error(), "verborgen")
	at.proxy.GoAway()
	_, err = good.List(t.Context())
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "verborgen")
	require.NotContains(t, err.Error(), "geheim")
}

// TestParametersOfArchives: two archives whose addresses differ only in their parameters, and that the server
// gives the same size and tag, are not mixed up in the cache, which never has the parameters.
func TestParametersOfArchives(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if name := r.URL.Query().Get("file"); name != "" && r.URL.Path == "/get" {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(tarOf(t, map[string]string{"m/1/x": name})))
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	env := remotetest.CacheEnv(t, dir, nil)
	for _, name := range []string{"one", "two"} {
		got, err := remotetest.Contents(t.Context(), env, openArchive(t, env, s.URL+"/get?token=verborgen&file="+name, remote.Options{}))
		require.NoError(t, err)
		require.Equal(t, map[string]string{"m/1/x": name}, got)
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), "verborgen", path)
		return err
	}))
}

// TestPathsOfArchives: addresses that cannot be archives are errors when they are opened.
func TestPathsOfArchives(t *testing.T) {
	t.Parallel()
	remotetest.CheckRefused(t, map[string]string{
		"https://host":                                         "has the form https://host/models.tar.gz",
		"https:///x.tar":                                       "has the form",
		"https://host/x.tar#sha256=abc":                        "sha256 must have 64 hexadecimal digits",
		"https://host/x.tar#md5=abc":                           `unknown setting "md5"`,
		"https://host/x.tar#%zz":                               "cannot be parsed",
		"http://models.example.com/x.tar":                      "over unencrypted HTTP needs its checksum",
		"https://user:" + remotetest.Secret + "@host/%zz?x=y#": "cannot be parsed",
	}, func(path string) (remote.Source, error) {
		return remote.Open(path, remote.Env{}, remote.Options{})
	})
	_, err := remote.Open("http://models.example.com/x.tar#sha256="+strings.Repeat("0", 64), remote.Env{}, remote.Options{})
	require.NoError(t, err)
}
