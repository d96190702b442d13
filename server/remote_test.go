package server_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
	"triton/server/store/remote/remotetest"
)

// modelStore is an S3 store in this process.
type modelStore struct {
	*remotetest.Bucket
	path   string
	locked atomic.Bool // all requests are refused
}

func newModelStore(t *testing.T) *modelStore {
	t.Helper()
	m := &modelStore{Bucket: &remotetest.Bucket{}}
	s := remotetest.Server{Buckets: map[string]*remotetest.Bucket{"bucket": m.Bucket}, Allow: func(*http.Request) bool {
		return !m.locked.Load()
	}}
	m.path = "s3://" + remotetest.Serve(t, s.S3()) + "/bucket/models"
	return m
}

func (m *modelStore) put(name, version string) {
	m.Put("models/"+name+"/"+version+"/weights", "weights of "+name+" "+version)
	m.Put("models/"+name+"/config.pbtxt", servertest.Identity("INT32", "2", 0))
}

// remoteOptions serve remote paths with a cache folder and variables.
func remoteOptions(cache string, variables map[string]string) servertest.Option {
	variables = maps.Clone(variables)
	if variables == nil {
		variables = map[string]string{}
	}
	variables["AWS_SHARED_CREDENTIALS_FILE"] = "/none"
	return servertest.With(func(o *server.Options) {
		o.Remote = server.Remote{CacheDirectory: cache, Getenv: func(name string) string { return variables[name] }}
	})
}

func polled(o *server.Options) {
	o.Models.Control, o.Models.PollInterval = repository.ControlPoll, 20*time.Millisecond
}

const twoNumbers = `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[2],"data":[7,8]}]}`

func requireServed(t *testing.T, c *http.Client, base, model string) {
	t.Helper()
	code, text, err := post(c, base+"/v2/models/"+model+"/infer", twoNumbers)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, text)
	require.Contains(t, text, "[7,8]")
}

// TestRemoteRepository serves models of S3 beside those of a folder, follows changes by polls, goes
// on when the store is gone, and starts again without downloads.
func TestRemoteRepository(t *testing.T) {
	t.Parallel()
	m, cache, c := newModelStore(t), t.TempDir(), newClient(t)
	m.put("far", "1")
	local := t.TempDir()
	near := func(name string) {
		require.NoError(t, os.MkdirAll(filepath.Join(local, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(local, name, "config.pbtxt"), []byte(servertest.Identity("INT32", "2", 0)), 0o644))
	}
	near("near")
	start := func() *servertest.Server {
		return servertest.Start(t, servertest.Repository(m.path), servertest.Repository(local), remoteOptions(cache, nil), servertest.With(polled))
	}
	s := start()
	base := "http://" + s.HTTP
	requireServed(t, c, base, "far")
	requireServed(t, c, base, "near")

	m.put("later", "1")
	m.put("far", "2")
	become(t, c, base+"/v2/models/later/ready", http.StatusOK)
	become(t, c, base+"/v2/models/far/versions/2/ready", http.StatusOK)
	become(t, c, base+"/v2/models/far/versions/1/ready", http.StatusBadRequest)

	m.Remove("models/later")
	become(t, c, base+"/v2/models/later/ready", http.StatusBadRequest)

	m.locked.Store(true) // nothing can be listed any more
	require.Eventually(t, func() bool {
		_, text := get(t, c, "http://"+s.Metrics+"/metrics")
		return strings.Contains(text, `triton_repository_up{repository="`+m.path+`"} 0`)
	}, time.Minute, 10*time.Millisecond)
	requireServed(t, c, base, "far")
	near("nearer")
	become(t, c, base+"/v2/models/nearer/ready", http.StatusOK)
	_, text := get(t, c, "http://"+s.Metrics+"/metrics")
	for _, line := range []string{
		`triton_repository_download_bytes_total{repository="` + m.path + `"} [1-9]`, `triton_repository_cache_misses_total [1-9]`,
		`triton_repository_cache_bytes [1-9]`, `triton_repository_listings_total{repository="` + m.path + `"} [1-9]`,
	} {
		require.Regexp(t, strings.ReplaceAll(regexp.QuoteMeta(line), `\[1-9\]`, "[1-9]"), text)
	}

	m.locked.Store(false)
	become(t, c, base+"/v2/health/ready", http.StatusOK)
	s.Stop(t)
	before, _, _ := m.Counts()
	s = start()
	requireServed(t, c, "http://"+s.HTTP, "far")
	after, _, _ := m.Counts()
	require.Equal(t, before, after, "the second start downloads nothing")
	s.Stop(t)
	left, err := os.ReadDir(filepath.Join(cache, "process"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// become waits until a path has a status.
func become(t *testing.T, c *http.Client, url string, status int) {
	t.Helper()
	require.Eventually(t, func() bool { code, _ := get(t, c, url); return code == status }, time.Minute, 10*time.Millisecond, url)
}

// TestRemoteRepositoryUnreachable: a server whose store refuses it, has no such bucket or is not
// there ends with the reason, or waits for the store without being live; no message has a secret.
func TestRemoteRepositoryUnreachable(t *testing.T) {
	t.Parallel()
	m := newModelStore(t)
	m.locked.Store(true)
	gone := remotetest.Serve(t, http.NotFoundHandler())
	for name, test := range map[string]struct{ path, want string }{
		"denied":      {m.path, "access denied: AccessDenied: of the test; check the credentials of the server"},
		"unreachable": {"s3://127.0.0.1:1/bucket/models", "the store cannot be reached"},
		"missing":     {"s3://" + gone + "/bucket", "not found"},
		"form":        {"s3://", "is not a path of S3"},
		"scheme":      {"ftp://host/models", "unknown scheme of a model repository; known are as, gs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := servertest.Try(t, servertest.Repository(test.path), remoteOptions(t.TempDir(), map[string]string{"AWS_ACCESS_KEY_ID": "WRONG", "AWS_SECRET_ACCESS_KEY": "hunter2"}))
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

// TestRemoteRepositoryRecovers: with ExitOnError false the server opens its ports and serves when
// the store lets it in.
func TestRemoteRepositoryRecovers(t *testing.T) {
	t.Parallel()
	m, c := newModelStore(t), newClient(t)
	m.put("far", "1")
	allowed := make(chan struct{})
	s := remotetest.Server{Buckets: map[string]*remotetest.Bucket{"bucket": m.Bucket}, Allow: func(*http.Request) bool {
		select {
		case <-allowed:
			return true
		default:
			return false
		}
	}}
	path := "s3://" + remotetest.Serve(t, s.S3()) + "/bucket/models"
	running := servertest.Start(t, servertest.Repository(path), remoteOptions(t.TempDir(), nil), servertest.With(func(o *server.Options) { o.ExitOnError = false }))
	base := "http://" + running.HTTP
	code, _ := get(t, c, base+"/v2/health/live")
	require.Equal(t, http.StatusBadRequest, code)
	code, text, err := post(c, base+"/v2/repository/index", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "access denied")
	close(allowed)
	become(t, c, base+"/v2/health/ready", http.StatusOK)
	requireServed(t, c, base, "far")
}

// TestRemoteRepositoryExplicit loads models of a store by request; a store that is gone is the
// client's error, and what serves stays.
func TestRemoteRepositoryExplicit(t *testing.T) {
	t.Parallel()
	m, c := newModelStore(t), newClient(t)
	m.put("far", "1")
	m.put("other", "1")
	s := servertest.Start(t, servertest.Repository(m.path), remoteOptions(t.TempDir(), nil), servertest.With(func(o *server.Options) { o.Models.Control = repository.ControlExplicit }))
	base := "http://" + s.HTTP
	load := func(model string) int {
		code, _, err := post(c, base+"/v2/repository/models/"+model+"/load", "")
		require.NoError(t, err)
		return code
	}
	require.Equal(t, http.StatusOK, load("far"))
	m.locked.Store(true)
	require.Equal(t, http.StatusInternalServerError, load("other"))
	require.Equal(t, http.StatusInternalServerError, load("far"), "whether it was changed is unknown")
	requireServed(t, c, base, "far")
	m.locked.Store(false)
	require.Equal(t, http.StatusOK, load("other"))
}
