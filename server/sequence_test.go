package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"triton/repo/example"
	"triton/server/servertest"
)

// Sequences give the answers that Triton gave with NVIDIA's own test backends,
// for configurations like those of NVIDIA's tests.
func TestSequencesAsRecorded(t *testing.T) {
	t.Parallel()
	var models []servertest.Option
	for _, name := range []string{
		"custom_sequence_int32", "custom_dyna_sequence_int32", "custom_dyna_sequence_string", "no_implicit_state", "no_state_update", "single_state_buffer", "iterative_sequence",
	} {
		config, err := os.ReadFile(filepath.Join("backend", "builtin", "testdata", "configs", name+".pbtxt"))
		require.NoError(t, err)
		config = patient(t, config)
		if name == "single_state_buffer" { // it compares addresses
			config = append(config, "\nparameters { key: \"isolation\" value { string_value: \"none\" } }\n"...)
		}
		models = append(models, servertest.Model(name, string(config)))
	}
	s := servertest.Start(t, models...)
	client := newClient(t)
	datadriven.RunTest(t, filepath.Join("testdata", "sequences", "recorded"), func(t *testing.T, d *datadriven.TestData) string {
		return posted(t, client, s, d)
	})
}

var sequenceIdle = regexp.MustCompile(`max_sequence_idle_microseconds: \d+`)

// patient gives a model of sequences an idle time that no client of a test exceeds, however busy the
// machine is. The default is a second.
func patient(t *testing.T, config []byte) []byte {
	t.Helper()
	text := sequenceIdle.ReplaceAllString(string(config), "")
	changed := strings.Replace(text, "sequence_batching {", "sequence_batching { max_sequence_idle_microseconds: 600000000", 1)
	require.NotEqual(t, text, changed)
	return []byte(changed)
}

// posted returns the answer to a request of a file, as status and body without empty
// lines.
func posted(t *testing.T, client *http.Client, s *servertest.Server, d *datadriven.TestData) string {
	t.Helper()
	code, body, err := post(client, "http://"+s.HTTP+"/v2/models/"+d.CmdArgs[0].Key, d.Input)
	require.NoError(t, err)
	return fmt.Sprintf("%d\n%s\n", code, strings.TrimRight(strings.ReplaceAll(body, "\n\n", "\n"), "\n"))
}

// accumulate returns one step of a sequence; flags are the letters S and E.
func accumulate(id int, flags string, v int) string {
	return fmt.Sprintf(`{"parameters":{"sequence_id":%d,"sequence_start":%t,"sequence_end":%t},"inputs":[{"name":"INPUT","datatype":"INT32","shape":[1,1],"data":[%d]}]}`,
		id, strings.Contains(flags, "S"), strings.Contains(flags, "E"), v)
}

// The timelines of implicit state with ONNX Runtime, through both strategies.
func TestONNXAccumulator(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"direct { }", "oldest { max_candidate_sequences: 4 }"} {
		t.Run(strings.Fields(strategy)[0], func(t *testing.T) {
			t.Parallel()
			dir := accumulatorIn(t, strategy)
			s := servertest.Start(t, servertest.Repository(dir))
			client := newClient(t)
			for _, step := range []struct {
				id    int
				flags string
				v     int
				want  string
			}{
				{1, "S", 1, "1"},
				{1, "", 2, "3"},
				{1, "E", 3, "6"},
				{1, "S", 1, "1"},
				{2, "S", 10, "10"},
				{1, "", 2, "3"},
				{2, "", 20, "30"},
				{1, "", 5, "8"},
				{1, "", 6, "14"},
				{1, "S", 7, "7"},
				{1, "E", 1, "8"},
				{2, "E", 1, "31"},
			} {
				code, body, err := post(client, "http://"+s.HTTP+"/v2/models/onnx_accumulator/infer", accumulate(step.id, step.flags, step.v))
				require.NoError(t, err)
				require.Equal(t, 200, code, body)
				require.Equal(t, `{"model_name":"onnx_accumulator","model_version":"1","outputs":[{"name":"OUTPUT","datatype":"INT32","shape":[1,1],"data":[`+step.want+`]}]}`, body)
			}
		})
	}
}

// accumulatorIn writes the example model with another strategy.
func accumulatorIn(t *testing.T, strategy string) string {
	t.Helper()
	needsONNX(t)
	dir := t.TempDir()
	require.NoError(t, example.Write(t.Context(), dir, example.Options{Models: []string{"onnx_accumulator"}}))
	path := filepath.Join(dir, "onnx_accumulator", "config.pbtxt")
	config, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := strings.Replace(string(patient(t, config)), "direct { }", strategy, 1)
	require.Contains(t, changed, strategy)
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
	return dir
}

// More sequences than slots run at the same time; each adds up its own requests.
func TestManyAccumulators(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"direct { }", "oldest { max_candidate_sequences: 5 }"} {
		t.Run(strings.Fields(strategy)[0], func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, servertest.Repository(accumulatorIn(t, strategy)))
			client := newClient(t)
			var all errgroup.Group
			for id := 1; id <= 24; id++ {
				all.Go(func() error { return steps(client, s.HTTP, id, 20) })
			}
			require.NoError(t, all.Wait())
			_, stats := get(t, client, "http://"+s.HTTP+"/v2/models/onnx_accumulator/stats")
			require.Contains(t, stats, `"inference_count":480,`)
		})
	}
}

// steps returns one sequence of n steps of the size of its id.
func steps(client *http.Client, addr string, id, n int) error {
	for k := 1; k <= n; k++ {
		flags := map[int]string{1: "S", n: "E"}[k]
		code, body, err := post(client, "http://"+addr+"/v2/models/onnx_accumulator/infer", accumulate(id, flags, id))
		if err != nil {
			return err
		}
		if want := fmt.Sprintf(`"data":[%d]`, k*id); code != 200 || !strings.Contains(body, want) {
			return fmt.Errorf("sequence %d, step %d: %d %s, want %s", id, k, code, body, want)
		}
	}
	return nil
}

// The state of one sequence is never copied: an output is the next input.
func TestStatesAreNotCopied(t *testing.T) {
	t.Parallel()
	servertest.NeedsInProcess(t, "small tensors are copied to frames")
	s := servertest.Start(t, servertest.Repository(accumulatorIn(t, "direct { }")))
	client := newClient(t)
	before, _ := copied(t, client, s)
	require.NoError(t, steps(client, s.HTTP, 3, 10))
	after, _ := copied(t, client, s)
	require.Zero(t, after-before)
}
