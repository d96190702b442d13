package redis_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server"
	"triton/server/infer"
	"triton/server/servertest"
)

// serve runs a whole server over its own copy of the same models.
func serve(t *testing.T, port string) *servertest.Server {
	t.Helper()
	return servertest.Start(t,
		servertest.Model("m", servertest.Identity("UINT8", "-1", 0)+"response_cache { enable: true }"),
		servertest.Model("part", servertest.Identity("UINT8", "-1", 0)),
		servertest.Model("e", ensemble+"response_cache { enable: true }"),
		servertest.With(func(o *server.Options) {
			o.Cache.Name, o.Cache.Settings = "redis", map[string]string{"host": "127.0.0.1", "port": port, "socket_timeout": "5000"}
		}))
}

const ensemble = `platform: "ensemble"
input { name: "INPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }
ensemble_scheduling { step {
  model_name: "part" model_version: -1
  input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" }
} }
`

// ask returns the response of a request, and whether the cache answered it.
func ask(t *testing.T, s *servertest.Server, model, text string) (hit bool) {
	t.Helper()
	before := hits(t, s, model)
	m, err := s.Service().Model(model, "")
	require.NoError(t, err)
	defer m.Release()
	r := infer.NewRequest()
	defer r.Release()
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Uint8, tensor.Shape{int64(len(text))}
	in.Data = tensor.NewData(tensor.HeapBuffer([]byte(text)))
	resp, err := m.Infer(context.Background(), r)
	require.NoError(t, err)
	defer resp.Release()
	data, _ := resp.Output("OUTPUT0").Data.Contiguous()
	require.Equal(t, text, string(data))
	if model == "m" {
		require.Len(t, resp.Parameters, 4, "the backend's")
	}
	return hits(t, s, model) > before
}

func hits(t *testing.T, s *servertest.Server, model string) uint64 {
	t.Helper()
	all, err := s.Service().Statistics(model, "")
	require.NoError(t, err)
	return all.ModelStats[0].InferenceStats.CacheHit.Count
}

// TestServersShare: a response that one server has computed is a hit on another one; without Redis
// both compute it.
func TestServersShare(t *testing.T) {
	t.Parallel()
	port, stop := start(t, "")
	one, two := serve(t, port), serve(t, port)
	for _, model := range []string{"m", "e"} {
		require.False(t, ask(t, one, model, "question"))
		eventually(t, func() bool { return ask(t, one, model, "question") })
		require.True(t, ask(t, two, model, "question"), "%s: what the other one has kept", model)
	}
	stop()
	for range 100 {
		require.False(t, ask(t, one, "m", "question"))
	}
	dead := serve(t, port) // and starts
	require.False(t, ask(t, dead, "m", "question"))
}
