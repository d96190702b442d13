package server_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
	"triton/server/store/remote/remotetest"
)

// TestStoresLarge loads a model of 2 GiB from MinIO and from an archive, and again by another server
// from the cache. It logs times and bytes.
func TestStoresLarge(t *testing.T) {
	storePrograms(t)
	const size = 2 << 30
	address := startMinIO(t, "")
	client := s3Client(t, address, false)
	newBucket(t, client, "models", true)
	publishS3(t, client, "models", "team/", tree{"large/config.pbtxt": servertest.Identity("INT32", "4", 0)})
	_, err := client.PutObject(t.Context(), "models", "team/large/1/weights.bin", io.LimitReader(rand.NewChaCha8([32]byte{1}), size), size, minio.PutObjectOptions{PartSize: 64 << 20})
	require.NoError(t, err)
	dir := t.TempDir()
	writeLargeArchive(t, filepath.Join(dir, "large.tar"), size)
	for _, s := range []struct{ name, at, path string }{
		{"MinIO", "http://" + address, "/models/team"},
		{"tar over HTTP", startWebServer(t, dir), "/large.tar"},
	} {
		proxy := remotetest.NewProxy(t, s.at)
		path := "s3://" + proxy.Address + s.path
		if s.name != "MinIO" {
			path = proxy.URL() + s.path
		}
		cache := t.TempDir()
		for _, start := range []string{"first", "second"} {
			before, begin := proxy.Bytes(), time.Now()
			running := servertest.Start(t, servertest.Repository(path), servertest.With(func(o *server.Options) {
				o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"large"}
				o.Remote = server.Remote{CacheDirectory: cache, Getenv: func(name string) string {
					return map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}[name]
				}}
			}))
			took := time.Since(begin)
			resp, err := http.Get("http://" + running.HTTP + "/v2/models/large/ready")
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, http.StatusOK, resp.StatusCode)
			bytes := proxy.Bytes() - before
			t.Logf("%s: %s start with a model of 2 GiB: %.2f s, %d bytes from the store", s.name, start, took.Seconds(), bytes)
			if start == "second" {
				require.Less(t, bytes, int64(100<<10), "nothing is downloaded again")
			} else {
				require.Less(t, bytes, int64(size)+(1<<20), "everything is downloaded once")
			}
			running.Stop(t)
		}
		require.NoError(t, os.RemoveAll(cache))
	}
}

// writeLargeArchive writes a tar archive with a large model.
func writeLargeArchive(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w := newTarWriter(f)
	w.add(t, "large/config.pbtxt", []byte(servertest.Identity("INT32", "4", 0)))
	w.stream(t, "large/1/weights.bin", size, rand.NewChaCha8([32]byte{1}))
	require.NoError(t, w.Close())
}
