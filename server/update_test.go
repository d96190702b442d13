package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

// TestStartWithoutARepository: with ExitOnError false a server whose repository is missing opens
// its ports, answers as NVIDIA's does, and serves when the repository appears.
func TestStartWithoutARepository(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*server.Options){
		"all models": func(*server.Options) {},
		"poll": func(o *server.Options) {
			o.Models.Control, o.Models.PollInterval = repository.ControlPoll, 100*time.Millisecond
		},
		"explicit": func(o *server.Options) {
			o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"m"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			missing := filepath.Join(t.TempDir(), "models")
			s := servertest.Start(t, servertest.Repository(missing), servertest.With(func(o *server.Options) {
				o.ExitOnError = false
				change(o)
			}))
			c, base := newClient(t), "http://"+s.HTTP
			reason := "failed to stat file " + missing
			for path, want := range map[string]string{
				"/v2/health/live": "", "/v2/health/ready": "",
				"/v2/models/m":       `{"error":"Server not ready"}`,
				"/v2/models/m/ready": `{"error":"Server not ready"}`,
				"/v2/models/stats":   `{"error":"Server not ready"}`,
			} {
				code, text := get(t, c, base+path)
				require.Equal(t, want, text, path)
				if want == "" {
					require.Equal(t, http.StatusBadRequest, code, path)
				} else {
					require.Equal(t, http.StatusServiceUnavailable, code, path)
				}
			}
			code, text := get(t, c, base+"/v2")
			require.Equal(t, http.StatusOK, code)
			require.Contains(t, text, `"name":"triton"`)
			code, text, err := post(c, base+"/v2/repository/index", "")
			require.NoError(t, err)
			require.Equal(t, http.StatusServiceUnavailable, code)
			require.Equal(t, `{"error":"Server not ready: `+reason+`"}`, text)
			for _, path := range []string{"/v2/models/m/infer", "/v2/repository/models/m/load"} {
				code, text, err = post(c, base+path, body)
				require.NoError(t, err)
				require.Equal(t, http.StatusServiceUnavailable, code, path)
				require.Equal(t, `{"error":"Server not ready"}`, text, path)
			}
			g := dial(t, s.GRPC)
			live, err := g.ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
			require.NoError(t, err)
			require.False(t, live.GetLive())
			_, err = g.ServerMetadata(t.Context(), &inferencepb.ServerMetadataRequest{})
			require.NoError(t, err)
			_, err = g.RepositoryIndex(t.Context(), &inferencepb.RepositoryIndexRequest{})
			require.ErrorContains(t, err, reason)
			code, _ = get(t, c, "http://"+s.Metrics+"/metrics")
			require.Equal(t, http.StatusOK, code)

			// It appears at once, as a volume that is mounted.
			whole := filepath.Join(filepath.Dir(missing), "new")
			require.NoError(t, os.MkdirAll(filepath.Join(whole, "m", "1"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(whole, "m", "config.pbtxt"), []byte(servertest.Identity("INT32", "4", 8)), 0o600))
			require.NoError(t, os.Rename(whole, missing))
			require.Eventually(t, func() bool {
				code, _ := get(t, c, base+"/v2/health/ready")
				return code == http.StatusOK
			}, time.Minute, 20*time.Millisecond)
			code, _, err = post(c, base+"/v2/models/m/infer", body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code)
			if name != "poll" {
				return
			}
			require.NoError(t, os.RemoveAll(filepath.Join(missing, "m")))
			require.Eventually(t, func() bool {
				code, _ := get(t, c, base+"/v2/models/m/ready")
				return code != http.StatusOK
			}, time.Minute, 20*time.Millisecond, "it is polled from then on")
		})
	}
	_, err := servertest.Try(t, servertest.Repository("/no/such/folder"))
	require.EqualError(t, err, "creating server: Internal - failed to stat file /no/such/folder")
}

// TestStopWithoutARepository: a server that waits for its repository stops at once.
func TestStopWithoutARepository(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Repository("/no/such/folder"), servertest.With(func(o *server.Options) { o.ExitOnError = false }))
	s.Interrupt()
	require.NoError(t, s.Wait())
}
