package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"triton/pkg/onnxmodel"
	"triton/server"
	"triton/server/servertest"
)

// outer repeats inputs once for each entry of SIZES, so that every row of the output contains
// the inputs of the whole batch.
func outer(inputs, outputs []string) *onnxmodel.File {
	f := &onnxmodel.File{IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "outer"}
	row, column := onnxmodel.Ints("row", []int64{2}, 1, -1), onnxmodel.Ints("column", []int64{2}, -1, 1)
	f.Weights = []onnxmodel.Weight{row, column}
	node := func(op, out string, in ...string) {
		f.Nodes = append(f.Nodes, onnxmodel.Node{Op: op, Name: "node_" + out, Inputs: in, Outputs: []string{out}})
	}
	node("Div", "one", "BATCH_AND_SIZE_INPUT", "BATCH_AND_SIZE_INPUT")
	node("Reshape", "ones", "one", "column")
	for i, name := range inputs {
		f.Inputs = append(f.Inputs, onnxmodel.Tensor(name, onnxmodel.Float, name))
		f.Outputs = append(f.Outputs, onnxmodel.Tensor(outputs[i], onnxmodel.Float, outputs[i], outputs[i]+"_length"))
		node("Reshape", "mat_"+name, name, "row")
		node("MatMul", outputs[i], "ones", "mat_"+name)
	}
	return f
}

// same returns a graph that outputs one of its inputs.
func same(in, out onnxmodel.Value, more ...onnxmodel.Value) *onnxmodel.File {
	return &onnxmodel.File{
		IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "same",
		Inputs: append(more, in), Outputs: []onnxmodel.Value{out},
		Nodes: []onnxmodel.Node{{Op: "Identity", Name: "node", Inputs: []string{in.Name}, Outputs: []string{out.Name}}},
	}
}

// batchInputs returns a configuration of Triton's test suite L0_batch_input.
func batchInputs(dims, first, second string) string {
	tell := func(kind, target string) string {
		return fmt.Sprintf(`{ kind: %s target_name: "%s" data_type: TYPE_FP32 source_input: "RAGGED_INPUT" }`, kind, target)
	}
	text := `input [ { name: "RAGGED_INPUT" data_type: TYPE_FP32 dims: [ ` + dims + ` ] allow_ragged_batch: true } ]
batch_input [ ` + tell(first, "BATCH_AND_SIZE_INPUT") + ", " + tell(second, "BATCH_INPUT") + " ]\n"
	for _, out := range []string{"RAGGED_OUTPUT", "BATCH_AND_SIZE_OUTPUT", "BATCH_OUTPUT"} {
		text += fmt.Sprintf("output [ { name: %q data_type: TYPE_FP32 dims: [ -1 ] } ]\n", out)
	}
	return text
}

// TestBatchInputsOfTriton has the models, requests and answers of Triton's test
// suite L0_batch_input.
func TestBatchInputsOfTriton(t *testing.T) {
	t.Parallel()
	needsONNX(t)
	three := outer([]string{"RAGGED_INPUT", "BATCH_AND_SIZE_INPUT", "BATCH_INPUT"}, []string{"RAGGED_OUTPUT", "BATCH_AND_SIZE_OUTPUT", "BATCH_OUTPUT"})
	counts := []string{"1,2", "1,4", "1,1", "1,3"}
	all := func(text string) []string { return []string{text, text, text, text} }
	for name, test := range map[string]struct {
		config   string
		graph    *onnxmodel.File
		requests []string   // shapes
		input    string     // empty: RAGGED_INPUT
		want     [][]string // parts of each answer
	}{
		"ragged_element_count_acc_zero": {
			config: batchInputs("-1", "BATCH_ELEMENT_COUNT", "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"), graph: three, requests: counts,
			want: [][]string{
				all(`"RAGGED_OUTPUT","datatype":"FP32","shape":[1,10],"data":[2,2,4,4,4,4,1,3,3,3]`),
				all(`"BATCH_AND_SIZE_OUTPUT","datatype":"FP32","shape":[1,4],"data":[2,4,1,3]`),
				all(`"BATCH_OUTPUT","datatype":"FP32","shape":[1,5],"data":[0,2,6,7,10]`),
			},
		},
		"ragged_acc_shape": {
			config: batchInputs("-1", "BATCH_ACCUMULATED_ELEMENT_COUNT", "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE"), graph: three, requests: counts,
			want: [][]string{
				all(`"BATCH_AND_SIZE_OUTPUT","datatype":"FP32","shape":[1,4],"data":[2,6,7,10]`),
				all(`"BATCH_OUTPUT","datatype":"FP32","shape":[1,4],`),
			},
		},
		"batch_item_flatten": {
			config: batchInputs("-1, -1", "BATCH_ACCUMULATED_ELEMENT_COUNT", "BATCH_ITEM_SHAPE_FLATTEN"), graph: three,
			requests: []string{"1,4,1", "1,1,2", "1,1,2", "1,2,2"},
			want:     [][]string{all(`"BATCH_OUTPUT","datatype":"FP32","shape":[1,8],"data":[4,1,1,2,1,2,2,2]`)},
		},
		"batch_item": {
			config: `input [ { name: "RAGGED_INPUT" data_type: TYPE_FP32 dims: [ -1, -1 ] allow_ragged_batch: true } ]
output [ { name: "BATCH_OUTPUT" data_type: TYPE_FP32 dims: [ 2 ] } ]
batch_input [ { kind: BATCH_ITEM_SHAPE target_name: "BATCH_INPUT" data_type: TYPE_FP32 source_input: "RAGGED_INPUT" } ]
`,
			graph: same(onnxmodel.Tensor("BATCH_INPUT", onnxmodel.Float, "n", 2), onnxmodel.Tensor("BATCH_OUTPUT", onnxmodel.Float, "n", 2),
				onnxmodel.Tensor("RAGGED_INPUT", onnxmodel.Float, "total")),
			requests: []string{"2,1,2", "1,1,2", "1,2,2"},
			want: [][]string{{
				`"shape":[2,2],"data":[1,2,1,2]`, `"shape":[1,2],"data":[1,2]`, `"shape":[1,2],"data":[2,2]`,
			}},
		},
		"ragged_io": {
			config: `input [ { name: "INPUT0" allow_ragged_batch: true data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
batch_output [ { target_name: "OUTPUT0" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "INPUT0" } ]
`,
			graph: same(onnxmodel.Tensor("INPUT0", onnxmodel.Float, "n"), onnxmodel.Tensor("OUTPUT0", onnxmodel.Float, "n")),
			input: "INPUT0", requests: counts,
			want: [][]string{{
				`"shape":[1,2],"data":[2,2]`, `"shape":[1,4],"data":[4,4,4,4]`, `"shape":[1,1],"data":[1]`, `"shape":[1,3],"data":[3,3,3]`,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := modelDir(t, "m", "backend: \"onnxruntime\"\nmax_batch_size: 4\n"+test.config+"dynamic_batching { max_queue_delay_microseconds: 1000000 }", test.graph)
			s := servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) { o.Models.Holds.Requests = len(test.requests) }))
			answers := oneByOne(t, s, test.requests, test.input)
			for i, answer := range answers {
				for _, want := range test.want {
					require.Contains(t, strings.ReplaceAll(answer, ".0", ""), want[i])
				}
			}
		})
	}
}

// modelDir returns a repository with one model.
func modelDir(t *testing.T, name, config string, graph *onnxmodel.File) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o600))
	f, err := os.Create(filepath.Join(dir, name, "1", "model.onnx"))
	require.NoError(t, err)
	require.NoError(t, graph.Write(f))
	require.NoError(t, f.Close())
	return dir
}

// oneByOne sends requests so that they reach the queue in order, and returns their answers. All
// elements of a request with one dimension are its size; otherwise they are 1.
func oneByOne(t *testing.T, s *servertest.Server, shapes []string, input string) []string {
	t.Helper()
	if input == "" {
		input = "RAGGED_INPUT"
	}
	answers := make([]string, len(shapes))
	client := newClient(t)
	var all errgroup.Group
	for i, shape := range shapes {
		n, value := 1, "1"
		for _, d := range strings.Split(shape, ",") {
			n *= int(d[0] - '0')
		}
		if strings.Count(shape, ",") == 1 {
			value = shape[2:]
		}
		all.Go(func() (err error) {
			_, answers[i], err = post(client, "http://"+s.HTTP+"/v2/models/m/infer", fmt.Sprintf(
				`{"inputs":[{"name":%q,"datatype":"FP32","shape":[%s],"data":[%s]}]}`, input, shape, strings.TrimSuffix(strings.Repeat(value+",", n), ",")))
			return err
		})
		require.Eventually(t, func() bool {
			return i == len(shapes)-1 || taken(t, s) == i+1
		}, time.Minute, time.Millisecond)
	}
	require.NoError(t, all.Wait())
	return answers
}
