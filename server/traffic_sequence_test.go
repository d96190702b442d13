package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// accumulated sends one step of a sequence and returns the version that answers and the sum.
func (s *trafficServer) accumulated(id int, flags string, v int) string {
	s.t.Helper()
	resp, err := s.client.Post("http://"+s.HTTP+"/v2/models/acc/infer", "application/json", strings.NewReader(accumulate(id, flags, v)))
	require.NoError(s.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	var out struct {
		Version string `json:"model_version"`
		Outputs []struct{ Data []int }
	}
	require.NoError(s.t, json.Unmarshal(answer, &out), "%s", answer)
	require.Len(s.t, out.Outputs, 1, "%s", answer)
	return fmt.Sprintf("%s: %d", out.Version, out.Outputs[0].Data[0])
}

// TestTrafficSequences: sequences keep their version, and so their sum, while the rules change under
// them.
func TestTrafficSequences(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(filepath.Join("backend", "builtin", "testdata", "configs", "custom_sequence_int32.pbtxt"))
	require.NoError(t, err)
	text := strings.Replace(string(patient(t, config)), `name: "custom_sequence_int32"`, `name: "acc"`, 1) + "\nversion_policy { all { } }\n"
	s := startTraffic(t, &versioned{}, map[string]string{"acc": text})
	rules := []string{
		`{"default":{"version":"1"}}`,
		`{"default":{"version":"2"}}`,
		`{"canary":{"version":"2","stable":{"version":"1"},"steps":[50]}}`,
		`{"weights":[{"version":"1","weight":1},{"version":"2","weight":1}],"sticky":{"correlation_id":true}}`,
	}
	s.set("acc", rules[0])
	open := map[int]string{} // version by id
	ids := []int{1, 2, 1 << 40, 4, 5}
	version := func(answer string) string { return answer[:1] }
	for i, id := range ids {
		s.set("acc", rules[i%len(rules)])
		open[id] = version(s.accumulated(id, "S", 1))
	}
	for step := range 20 {
		if step == 7 {
			require.Equal(t, 200, first(s.call("DELETE", "/models/acc/traffic", "", "")))
		} else {
			s.set("acc", rules[step%len(rules)])
		}
		if step%len(rules) == 2 {
			require.Equal(t, 200, first(s.call("POST", "/models/acc/traffic/rollback", "", "")))
		}
		for _, id := range ids {
			require.Equal(t, open[id], version(s.accumulated(id, "", 1)), "step %d of %v", step, id)
		}
	}
	require.Equal(t, len(ids), s.state("acc").Sequences)
	for _, id := range ids {
		require.Equal(t, open[id], version(s.accumulated(id, "E", 1)))
	}
	require.Zero(t, s.state("acc").Sequences)
}

const pipeline = `platform: "ensemble"
max_batch_size: 8
input { name: "IN" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ 2 ] }
ensemble_scheduling { step { model_name: "m" model_version: -1
  input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } }
`

// TestTrafficOfSteps: a step of an ensemble uses the stable version of its model's rules, not the
// newest, which would be the canary.
func TestTrafficOfSteps(t *testing.T) {
	t.Parallel()
	s := startTraffic(t, &versioned{drift: 1}, map[string]string{"m": versionedConfig, "pipeline": pipeline})
	answer := func() string {
		code, text, err := post(&http.Client{Transport: s.client.Transport}, "http://"+s.HTTP+"/v2/models/pipeline/infer",
			`{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,2],"data":[1,2]}]}`)
		require.NoError(t, err)
		require.Equal(t, 200, code, text)
		return text
	}
	require.Contains(t, answer(), `"data":[2.0,3.0]`)
	s.set("m", `{"canary":{"version":"2","stable":{"version":"1"}}}`)
	require.Contains(t, answer(), `"data":[1.0,2.0]`)
	require.Equal(t, 200, first(s.call("DELETE", "/models/m/traffic", "", "")))
	require.Contains(t, answer(), `"data":[2.0,3.0]`)
}
