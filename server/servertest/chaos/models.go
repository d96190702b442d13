package chaos

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/onnxmodel"
)

// Model is one of the models under traffic.
type Model struct {
	Name     string
	kind     string // what computes: onnx, python, sequence, identity, repeat or ensemble
	Versions []int  // in the folder at the start
	policy   string // of versions; "" is the newest one
	settings string // further fields of the configuration
	source   string // ensemble: the model that gives its answers their edition
	remote   bool   // in the archive of the depot
	// Still models are never touched: none of their requests may fail, and their latency is
	// compared with that of the quiet time.
	Still bool
}

// Models returns all models. The names say what is special about each.
func Models() []Model {
	one := []int{1}
	all := []Model{
		{Name: "still_onnx", kind: "onnx", Versions: one, Still: true},
		{Name: "still_identity", kind: "identity", Versions: one, Still: true},
		{Name: "still_python", kind: "python", Versions: one, Still: true},
		{Name: "still_repeat", kind: "repeat", Versions: one, Still: true},
		{Name: "still_ensemble", kind: "ensemble", Versions: one, Still: true, source: "still_onnx"},
		{Name: "onnx_a", kind: "onnx", Versions: one},
		{Name: "onnx_isolated", kind: "onnx", Versions: one, settings: isolatedProcess},
		{Name: "onnx_batch", kind: "onnx", Versions: one, settings: "dynamic_batching { max_queue_delay_microseconds: 2000 }\n"},
		{Name: "onnx_cached", kind: "onnx", Versions: one, settings: "response_cache { enable: true }\n"},
		{Name: "onnx_ordered", kind: "onnx", Versions: one, settings: "dynamic_batching { preserve_ordering: true }\n"},
		{Name: "versions_all", kind: "onnx", Versions: []int{1, 2, 3}, policy: "version_policy { all { } }\n"},
		{Name: "versions_latest", kind: "onnx", Versions: []int{1, 2}, policy: "version_policy { latest { num_versions: 2 } }\n"},
		{Name: "python_a", kind: "python", Versions: one},
		{Name: "python_b", kind: "python", Versions: one, settings: "dynamic_batching { }\n"},
		{Name: "python_versions", kind: "python", Versions: []int{1, 2}, policy: "version_policy { all { } }\n"},
		{Name: "part", kind: "onnx", Versions: one},
		{Name: "ensemble", kind: "ensemble", Versions: one, source: "part"},
		{Name: "sequence_direct", kind: "sequence", Versions: one, settings: "direct { }"},
		{Name: "sequence_oldest", kind: "sequence", Versions: one, settings: "oldest { max_candidate_sequences: 8 }"},
		{Name: "identity", kind: "identity", Versions: one},
		{Name: "remote", kind: "onnx", Versions: one, remote: true},
	}
	return all
}

// isolatedProcess runs a model in a process of its own.
const isolatedProcess = "parameters { key: \"isolation\" value { string_value: \"process\" } }\n"

// folder returns the folder of a model below root.
func (m *Model) folder(root string) string {
	if m.remote {
		return filepath.Join(root, "remote", m.Name)
	}
	return filepath.Join(root, "models", m.Name)
}

// ownProcess reports whether each version of the model has a process.
func (m *Model) ownProcess() bool { return m.kind == "python" || m.settings == isolatedProcess }

// edition returns the edition that a version has at the start. For models whose answers have
// none it is the version.
func (m *Model) edition(version int) int64 {
	if !m.numbered() {
		return int64(version)
	}
	i := slices.IndexFunc(Models(), func(o Model) bool { return o.Name == m.Name })
	return int64(10*(i+1) + version)
}

// firstEdition is the first one that episodes give out.
const firstEdition = 1000

// numbered reports whether the content of the model has editions.
func (m *Model) numbered() bool {
	return m.kind == "onnx" || m.kind == "python" || m.kind == "sequence"
}

// selects returns the versions of a folder that the policy serves.
func (m *Model) selects(in []int) []int {
	in = slices.Sorted(slices.Values(in))
	switch n := len(in); {
	case strings.Contains(m.policy, "all"), n == 0:
		return in
	case strings.Contains(m.policy, "num_versions: 2"):
		return in[max(0, n-2):]
	default:
		return in[n-1:]
	}
}

// config returns config.pbtxt with a number of instances.
func (m *Model) config(instances int) string {
	group := fmt.Sprintf("instance_group [ { count: %d kind: KIND_CPU } ]\n", instances)
	tensors := func(in, out, dims string) string {
		return fmt.Sprintf("input [ { name: %q data_type: TYPE_INT64 dims: [ %s ] } ]\noutput [ { name: %q data_type: TYPE_INT64 dims: [ %s ] } ]\n", in, dims, out, dims)
	}
	io := tensors("INPUT0", "OUTPUT0", "-1")
	switch m.kind {
	case "onnx":
		return "backend: \"onnxruntime\"\nmax_batch_size: 8\n" + io + m.policy + m.settings + group
	case "python":
		return "backend: \"python\"\nmax_batch_size: 8\n" + io + m.policy + m.settings + group
	case "identity":
		return "backend: \"identity\"\nmax_batch_size: 8\n" + io + m.policy + m.settings + group
	case "repeat":
		return `backend: "repeat"
max_batch_size: 0
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
model_transaction_policy { decoupled: true }
` + group
	case "sequence":
		return "backend: \"onnxruntime\"\nmax_batch_size: 8\n" + tensors("INPUT0", "OUTPUT0", "1") +
			"sequence_batching {\n  max_sequence_idle_microseconds: 5000000\n  " + m.settings + `
  control_input [ { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } ] } ]
  state [ { input_name: "SUM_IN" output_name: "SUM_OUT" data_type: TYPE_INT64 dims: [ 1 ]
    initial_state: { name: "zero" data_type: TYPE_INT64 dims: [ 1 ] zero_data: true } } ]
}
` + group
	default: // the second step passes the values on
		return "platform: \"ensemble\"\nmax_batch_size: 8\n" + io + `ensemble_scheduling { step [
  { model_name: "` + m.source + `" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "between" } },
  { model_name: "still_identity" model_version: -1 input_map { key: "INPUT0" value: "between" } output_map { key: "OUTPUT0" value: "OUTPUT0" } }
] }
`
	}
}

// file returns the name of the model's file in a version's folder, and its content.
func (m *Model) file(root string, edition int64) (string, []byte) {
	switch m.kind {
	case "onnx":
		return "model.onnx", add(edition)
	case "sequence":
		return "model.onnx", accumulate(edition)
	case "python":
		return "model.py", fmt.Appendf(nil, pythonSource, filepath.Join(root, "pids", m.Name), edition)
	}
	return "", nil
}

// writeVersion writes the folder of a version.
func (m *Model) writeVersion(dir, root string, edition int64) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if name, content := m.file(root, edition); name != "" {
		return os.WriteFile(filepath.Join(dir, name), content, 0o644)
	}
	return nil
}

// pythonSource adds the edition. Each process leaves its ID, for the episodes that kill it.
const pythonSource = `import os
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        open("%s." + str(os.getpid()), "w").close()

    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([
                pb_utils.Tensor("OUTPUT0", pb_utils.get_input_tensor_by_name(r, "INPUT0").as_numpy() + %d)
            ])
            for r in requests
        ]
`

// add is an ONNX file that adds the edition.
func add(edition int64) []byte {
	f := graph()
	f.Inputs = []onnxmodel.Value{onnxmodel.Tensor("INPUT0", onnxmodel.Int64, "batch", "n")}
	f.Outputs = []onnxmodel.Value{onnxmodel.Tensor("OUTPUT0", onnxmodel.Int64, "batch", "n")}
	f.Weights = []onnxmodel.Weight{onnxmodel.Ints("edition", []int64{1}, edition)}
	f.Nodes = []onnxmodel.Node{{Op: "Add", Name: "add", Inputs: []string{"INPUT0", "edition"}, Outputs: []string{"OUTPUT0"}}}
	return written(f)
}

// accumulate is an ONNX file that adds the edition to the sum of a sequence.
func accumulate(edition int64) []byte {
	f := graph()
	for _, name := range []string{"INPUT0", "SUM_IN"} {
		f.Inputs = append(f.Inputs, onnxmodel.Tensor(name, onnxmodel.Int64, "batch", 1))
	}
	f.Inputs = append(f.Inputs, onnxmodel.Tensor("READY", onnxmodel.Int32, "batch", 1))
	for _, name := range []string{"OUTPUT0", "SUM_OUT"} {
		f.Outputs = append(f.Outputs, onnxmodel.Tensor(name, onnxmodel.Int64, "batch", 1))
	}
	f.Weights = []onnxmodel.Weight{onnxmodel.Ints("edition", []int64{1}, edition)}
	node := func(op, out string, in ...string) onnxmodel.Node {
		return onnxmodel.Node{Op: op, Name: "node_" + out, Inputs: in, Outputs: []string{out}}
	}
	cast := node("Cast", "ready", "READY")
	cast.Attrs = []onnxmodel.Attr{onnxmodel.IntAttr("to", int64(onnxmodel.Int64))}
	f.Nodes = []onnxmodel.Node{
		cast, node("Mul", "counted", "INPUT0", "ready"), node("Add", "SUM_OUT", "SUM_IN", "counted"), node("Add", "OUTPUT0", "SUM_OUT", "edition"),
	}
	return written(f)
}

func graph() *onnxmodel.File {
	return &onnxmodel.File{IRVersion: 8, Producer: "chaos", Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "chaos"}
}

func written(f *onnxmodel.File) []byte {
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}
