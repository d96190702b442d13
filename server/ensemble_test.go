package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
	"triton/server/trace"
)

const linear = `platform: "ensemble"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
  step { model_name: "a" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "t" } }
  step { model_name: "b" model_version: -1 input_map { key: "INPUT0" value: "t" } output_map { key: "OUTPUT0" value: "OUT" } }
}
`

func TestLinearEnsemble(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t,
		servertest.Model("a", servertest.Identity("INT32", "-1", 0)), servertest.Model("b", servertest.Identity("INT32", "-1", 0)),
		servertest.Model("lin", linear))
	code, body, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/lin/infer", `{"id":"x1","inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[1,2]}]}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	require.Equal(t, `{"id":"x1","model_name":"lin","model_version":"1","parameters":{"sequence_id":0,"sequence_start":false,"sequence_end":false},`+
		`"outputs":[{"name":"OUT","datatype":"INT32","shape":[2],"data":[1,2]}]}`, body)
}

// The requests of the steps are traced below the ensemble's, with the numbers
// that NVIDIA's server gives them.
func TestEnsembleTrace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.json")
	outer := strings.NewReplacer(`model_name: "a"`, `model_name: "lin"`, `key: "INPUT0" value: "IN"`, `key: "IN" value: "IN"`, `key: "OUTPUT0" value: "t"`, `key: "OUT" value: "t"`).Replace(linear)
	s := servertest.Start(t,
		servertest.Model("a", servertest.Identity("INT32", "-1", 0)), servertest.Model("b", servertest.Identity("INT32", "-1", 0)),
		servertest.Model("lin", linear), servertest.Model("nest", outer),
		servertest.With(func(o *server.Options) {
			o.Trace.Config = map[string][]trace.Setting{
				"": {{Name: "level", Value: "TIMESTAMPS"}, {Name: "rate", Value: "1"}}, "triton": {{Name: "file", Value: file}},
			}
		}))
	code, body, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/nest/infer", `{"id":"x","inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[1,2]}]}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	s.Stop(t)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var entries []struct {
		ID         int
		Model      string `json:"model_name"`
		Request    string `json:"request_id"`
		Parent     int    `json:"parent_id"`
		Timestamps []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal(text, &entries))
	var heads []string
	moments := map[int][]string{}
	for _, e := range entries {
		if e.Model != "" {
			heads = append(heads, fmt.Sprintf("%d %s %s < %d", e.ID, e.Model, e.Request, e.Parent))
		}
		for _, at := range e.Timestamps {
			if !strings.HasPrefix(at.Name, "HTTP_") {
				moments[e.ID] = append(moments[e.ID], at.Name)
			}
		}
	}
	slices.Sort(heads)
	require.Equal(t, []string{"1 nest x < 0", "2 lin x < 1", "3 a x < 2", "4 b x < 2", "5 b x < 1"}, heads)
	require.Equal(t, []string{"REQUEST_START", "QUEUE_START", "REQUEST_END"}, moments[2])
	require.ElementsMatch(t, []string{
		"REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END",
	}, moments[3])
}
