package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"triton/server"
	"triton/server/readiness"
	"triton/server/repository"
	"triton/server/servertest"
)

const brokenConfig = `backend: "identity" max_batch_size: 8 input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
version_policy { specific { versions: [ 7 ] } }`

// health returns the status of the health check and its verbose report.
func health(t *testing.T, s *servertest.Server, path string) (int, readiness.Report) {
	t.Helper()
	c := newClient(t)
	plain := func() int {
		code, text := get(t, c, "http://"+s.HTTP+path)
		require.Empty(t, text, "the plain form has no body")
		return code
	}
	before := plain()
	code, text := get(t, c, "http://"+s.HTTP+path+"?verbose")
	if code != before {
		require.Equal(t, plain(), code, "it changed in between")
	}
	var r readiness.Report
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	return code, r
}

// TestReadinessModes: each mode with a model that serves, one that fails, and one that was
// unloaded by hand, over HTTP and the health service of gRPC.
func TestReadinessModes(t *testing.T) {
	t.Parallel()
	good := servertest.Identity("INT32", "4", 8)
	for mode, want := range map[string]struct{ start, unloaded, fixed bool }{
		"":                {false, false, true},
		"strict":          {false, false, true},
		"any":             {true, true, true},
		"required:good":   {true, true, true},
		"required:hand":   {true, false, false},
		"required:good:2": {false, false, false},
		"required:broken": {false, false, true},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, servertest.Model("good", good), servertest.Model("hand", good), servertest.Model("broken", brokenConfig),
				servertest.With(func(o *server.Options) {
					o.ExitOnError, o.Models.Control, o.Models.Startup = false, repository.ControlExplicit, []string{"*"}
					if mode != "" {
						p, err := readiness.Parse(mode)
						require.NoError(t, err)
						o.Readiness = p
					}
				}))
			conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
			require.NoError(t, err)
			defer conn.Close()
			check := func(want bool, when string) {
				t.Helper()
				code, r := health(t, s, "/v2/health/ready")
				require.Equal(t, want, code == http.StatusOK, when)
				require.Equal(t, want, r.Ready)
				require.Equal(t, want, len(r.Reasons) == 0, r.Reasons)
				require.True(t, r.Live)
				require.Equal(t, "serving", r.Phase)
				reply, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
				require.NoError(t, err)
				require.Equal(t, want, reply.Status == grpc_health_v1.HealthCheckResponse_SERVING, when)
				code, _ = health(t, s, "/v2/health/live")
				require.Equal(t, http.StatusOK, code)
			}
			check(want.start, "at the start")
			c, base := newClient(t), "http://"+s.HTTP
			code, _, err := post(c, base+"/v2/repository/models/hand/unload", "{}")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code)
			check(want.unloaded, "after an unload by hand")
			// The reply to an unload does not wait for its end, and a model that is unloading is not ready.
			unloaded := regexp.MustCompile(`"name":"hand"[^}]*"state":"UNAVAILABLE"`)
			require.Eventually(t, func() bool {
				_, index, err := post(c, base+"/v2/repository/index", "{}")
				return err == nil && unloaded.MatchString(index)
			}, time.Minute, time.Millisecond)
			for service, serves := range map[string]bool{
				"models/good": true, "models/good/versions/1": true, "models/good/versions/9": false, "models/good/versions/x": false,
				"models/hand": false, "models/unknown": false,
			} {
				reply, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
				require.NoError(t, err)
				require.Equal(t, serves, reply.Status == grpc_health_v1.HealthCheckResponse_SERVING, service)
			}
			config := `{"parameters":{"config":"{\"backend\":\"identity\",\"max_batch_size\":8,\"input\":[{\"name\":\"INPUT0\",\"data_type\":\"TYPE_INT32\",\"dims\":[4]}],\"output\":[{\"name\":\"OUTPUT0\",\"data_type\":\"TYPE_INT32\",\"dims\":[4]}]}"}}`
			code, text, err := post(c, base+"/v2/repository/models/broken/load", config)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code, text)
			check(want.fixed, "after the broken model was loaded")
		})
	}
}

// TestServeWhileLoading: the ports open first; the report shows what loads, and then everything
// serves.
func TestServeWhileLoading(t *testing.T) {
	t.Parallel()
	slow := servertest.Identity("INT32", "4", 8) + `parameters { key: "creation_delay_sec" value { string_value: "300" } }`
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)), servertest.Model("slow", slow),
		servertest.With(func(o *server.Options) { o.ServeWhileLoading = true }))
	var r readiness.Report
	require.Eventually(t, func() bool {
		var code int
		code, r = health(t, s, "/v2/health/ready")
		require.Equal(t, http.StatusBadRequest, code)
		return r.Start.Loaded == 1 && len(r.Start.Loading) == 1 // they begin in any order
	}, time.Minute, 10*time.Millisecond)
	require.False(t, r.Live)
	require.Equal(t, "starting", r.Phase)
	require.Equal(t, []string{"the server is starting: 1 of 2 models are loaded"}, r.Reasons)
	require.Equal(t, 2, r.Start.Models)
	require.Equal(t, "slow", r.Start.Loading[0].Name)
	code, _ := health(t, s, "/v2/health/live")
	require.Equal(t, http.StatusBadRequest, code)
	code, text := get(t, newClient(t), "http://"+s.HTTP+"/v2")
	require.Equal(t, http.StatusOK, code, text)
}

// TestServeWhileLoadingFails: a model that cannot be loaded ends the server with Triton's error,
// although the ports were open.
func TestServeWhileLoadingFails(t *testing.T) {
	t.Parallel()
	s, err := servertest.Try(t, servertest.Model("broken", brokenConfig), servertest.With(func(o *server.Options) { o.ServeWhileLoading = true }))
	if err == nil {
		err = s.Wait()
	}
	require.EqualError(t, err, "creating server: Internal - failed to load all models")
}

// TestStartWithoutARepositoryForEveryCause: what NVIDIA's server answers while it could not
// initialize does not depend on why.
func TestStartWithoutARepositoryForEveryCause(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	locked := filepath.Join(t.TempDir(), "locked")
	require.NoError(t, os.Mkdir(locked, 0o000))
	for name, path := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "missing"), "a file": file, "below a file": filepath.Join(file, "models"), "not readable": locked,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "not readable" && os.Geteuid() == 0 {
				t.Skip("root reads every folder")
			}
			_, err := servertest.Try(t, servertest.Repository(path))
			require.Error(t, err)
			s := servertest.Start(t, servertest.Repository(path), servertest.With(func(o *server.Options) { o.ExitOnError = false }))
			code, r := health(t, s, "/v2/health/ready")
			require.Equal(t, http.StatusBadRequest, code)
			require.Equal(t, "failed", r.Phase)
			require.Len(t, r.Reasons, 1)
			require.Regexp(t, "^the server could not start: .*(file|valid directory)", r.Reasons[0])
			require.False(t, r.Live)
		})
	}
}
