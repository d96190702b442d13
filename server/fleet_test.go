package server_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"triton/pkg/onnxmodel"
	"triton/server/servertest"
)

// stateful is a model with one state that begins as these fields say.
type stateful struct {
	name, op string // of the graph: how state and input make the next state
	batch    int
	dims     string // of the state
	initial  string
	strategy string
	shown    bool // the state is an output too
	file     []byte
}

// config returns the model's config.pbtxt.
func (s *stateful) config() string {
	kind := "TYPE_INT32"
	if s.op == "StringConcat" {
		kind = "TYPE_STRING"
	}
	outputs := fmt.Sprintf("output { name: \"OUTPUT\" data_type: %s dims: [ %s ] }\n", kind, s.dims)
	if s.shown {
		outputs += strings.ReplaceAll(outputs, "OUTPUT", "SUM_OUT")
	}
	return fmt.Sprintf(`name: "%s" backend: "onnxruntime" max_batch_size: %d
input { name: "INPUT" data_type: %[3]s dims: [ 1 ] }
%[4]sinstance_group { count: 1 kind: KIND_CPU }
sequence_batching { max_sequence_idle_microseconds: 60000000 %[5]s
  state { input_name: "SUM_IN" output_name: "SUM_OUT" data_type: %[3]s dims: [ %[6]s ] %[7]s } }
`, s.name, s.batch, kind, outputs, s.strategy, s.dims, s.initial)
}

// graph returns the model's graph.
func (s *stateful) graph() *onnxmodel.File {
	value := func(name string, dims ...any) onnxmodel.Value {
		elem := onnxmodel.Int32
		if s.op == "StringConcat" {
			elem = onnxmodel.String
		}
		if s.batch > 0 {
			dims = append([]any{"batch"}, dims...)
		}
		return onnxmodel.Tensor(name, elem, dims...)
	}
	node := onnxmodel.Node{Op: s.op, Inputs: []string{"SUM_IN", "INPUT"}, Outputs: []string{"SUM_OUT"}}
	before, after := []any{1}, []any{1}
	if s.op == "Concat" {
		before, after = []any{"before"}, []any{"after"}
		node.Attrs = []onnxmodel.Attr{onnxmodel.IntAttr("axis", 1)}
	}
	return &onnxmodel.File{
		IRVersion: 9, Opsets: []onnxmodel.Opset{{Version: 20}}, Graph: s.name,
		Nodes:   []onnxmodel.Node{node, {Op: "Identity", Inputs: []string{"SUM_OUT"}, Outputs: []string{"OUTPUT"}}},
		Inputs:  []onnxmodel.Value{value("INPUT", 1), value("SUM_IN", before...)},
		Outputs: []onnxmodel.Value{value("OUTPUT", after...), value("SUM_OUT", after...)},
	}
}

func (s *stateful) write(t *testing.T, root string) {
	t.Helper()
	dir := filepath.Join(root, s.name)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "1"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "initial_state"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(s.config()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "initial_state", "file"), s.file, 0o644))
	f, err := os.Create(filepath.Join(dir, "1", "model.onnx"))
	require.NoError(t, err)
	require.NoError(t, s.graph().Write(f))
	require.NoError(t, f.Close())
}

// Implicit states give the answers that Triton gave with its ONNX Runtime
// backend.
func TestStatesAsRecorded(t *testing.T) {
	t.Parallel()
	needsONNX(t)
	const (
		zero   = `initial_state { name: "i" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true }`
		direct = "direct { }"
	)
	root := t.TempDir()
	for _, s := range []stateful{
		{name: "acc", op: "Add", batch: 4, dims: "1", initial: zero, strategy: direct},
		{name: "oldest", op: "Add", batch: 4, dims: "1", initial: zero, strategy: "oldest { max_candidate_sequences: 4 }"},
		{
			name: "file", op: "Add", batch: 4, dims: "1", initial: strings.Replace(zero, "zero_data: true", `data_file: "file"`, 1), strategy: direct,
			file: binary.LittleEndian.AppendUint64(nil, 5<<32|100),
		},
		{name: "single", op: "Add", batch: 4, dims: "1", initial: "use_same_buffer_for_input_output: true " + zero, strategy: direct},
		{name: "grow", op: "Concat", batch: 4, dims: "-1", initial: zero, strategy: direct},
		{name: "strings", op: "StringConcat", batch: 4, dims: "1", strategy: direct},
		{name: "nobatch", op: "Add", dims: "1", initial: zero, strategy: direct},
		{name: "shown", op: "Add", batch: 4, dims: "1", initial: zero, strategy: direct, shown: true},
	} {
		s.write(t, root)
	}
	s := servertest.Start(t, servertest.Repository(root))
	client := newClient(t)
	datadriven.RunTest(t, filepath.Join("testdata", "sequences", "onnx"), func(t *testing.T, d *datadriven.TestData) string {
		return posted(t, client, s, d)
	})
}

// Sequences whose states differ in length do not get into each other's batches.
func TestStatesThatGrow(t *testing.T) {
	t.Parallel()
	needsONNX(t)
	root := t.TempDir()
	begin := `initial_state { name: "i" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true }`
	for name, strategy := range map[string]string{"direct": "direct { }", "oldest": "oldest { max_candidate_sequences: 4 }"} {
		s := stateful{name: name, op: "Concat", batch: 4, dims: "-1", initial: begin, strategy: strategy}
		s.write(t, root)
	}
	s := servertest.Start(t, servertest.Repository(root))
	client := newClient(t)
	var all errgroup.Group
	for _, name := range []string{"direct", "oldest"} {
		for id := 1; id <= 6; id++ {
			all.Go(func() error {
				history := "0"
				for k := range 10 + 5*id {
					history += "," + strconv.Itoa(id)
					flags := map[int]string{0: "S", 9 + 5*id: "E"}[k]
					code, body, err := post(client, "http://"+s.HTTP+"/v2/models/"+name+"/infer", accumulate(id, flags, id))
					if err != nil || code != 200 || !strings.Contains(body, `"data":[`+history+`]`) {
						return fmt.Errorf("sequence %d of %s, step %d: %d %s %w", id, name, k, code, body, err)
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, all.Wait())
}
