package scaffold_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/repo"
	"triton/repo/lint"
	"triton/repo/scaffold"
)

// written scaffolds a model and returns its configuration, which has no findings.
func written(t *testing.T, file string, o scaffold.Options) (config string, res scaffold.Result) {
	t.Helper()
	o.Output, o.DefaultMaxBatch = t.TempDir(), 4
	res, err := scaffold.Write(file, o)
	require.NoError(t, err)
	models, err := repo.Open(o.Output)
	require.NoError(t, err)
	const lengths = "TRN318" // whether the sizes of a request's inputs differ is not known
	require.Empty(t, slices.DeleteFunc(lint.Check(models, lint.Options{DefaultMaxBatch: 4, CPUs: 1}), func(f repo.Finding) bool { return f.Rule == lengths }))
	for i, f := range res.Files {
		_, err := os.Stat(f)
		require.NoError(t, err)
		res.Files[i], err = filepath.Rel(o.Output, f)
		require.NoError(t, err)
	}
	return read(t, filepath.Join(o.Output, res.Name, "config.pbtxt")), res
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

const ir = `<?xml version="1.0"?>
<net name="net" version="11">
	<layers>
		<layer id="0" name="x" type="Parameter" version="opset1">
			<data shape="?,3,1..8" element_type="f32" />
			<output><port id="0" precision="FP32" names="x:0,x"><dim>-1</dim><dim>3</dim><dim>-1</dim></port></output>
		</layer>
		<layer id="1" name="w" type="Const" version="opset1">
			<data element_type="f32" shape="1" offset="0" size="4" />
			<output><port id="0" precision="FP32"><dim>1</dim></port></output>
		</layer>
		<layer id="2" name="loop" type="Loop">
			<output><port id="1" precision="I64" names="y"><dim>-1</dim></port><port id="2" precision="BOOL"><dim>-1</dim><dim>2</dim></port></output>
			<body><layers><layer id="0" type="Parameter"><data shape="1" element_type="u8"/></layer></layers></body>
		</layer>
		<layer id="3" type="Result"><input><port id="0" precision="I64"><dim>-1</dim></port></input></layer>
		<layer id="4" type="Result"><input><port id="0" precision="BOOL"><dim>-1</dim><dim>2</dim></port></input></layer>
	</layers>
	<edges>
		<edge from-layer="0" from-port="0" to-layer="2" to-port="0" />
		<edge from-layer="2" from-port="1" to-layer="3" to-port="0" />
		<edge from-layer="2" from-port="2" to-layer="4" to-port="0" />
	</edges>
</net>`

func TestOpenVINO(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "net.xml"), ir)
	_, err := scaffold.Write(file, scaffold.Options{Bare: true, Output: t.TempDir()})
	require.ErrorContains(t, err, "the weights of the model: ")
	require.ErrorIs(t, err, os.ErrNotExist)
	write(t, filepath.Join(dir, "net.bin"), "0000")
	config, res := written(t, file, scaffold.Options{Bare: true})
	require.Equal(t, []string{"net/1/model.xml", "net/1/model.bin", "net/config.pbtxt"}, res.Files)
	require.Equal(t, `name: "net"
backend: "openvino"
max_batch_size: 4
input {
  name: "x"
  data_type: TYPE_FP32
  dims: [ 3, -1 ]
}
output {
  name: "y"
  data_type: TYPE_INT64
  dims: [ 1 ]
  reshape { }
}
output {
  name: "output_1"
  data_type: TYPE_BOOL
  dims: [ 2 ]
}
dynamic_batching { }
`, config)
	dynamic := strings.NewReplacer("?,3,1..8", "...", `<dim>-1</dim><dim>2</dim>`, "").Replace(ir)
	config, res = written(t, write(t, file, dynamic), scaffold.Options{Bare: true})
	require.NotContains(t, config, "max_batch_size")
	require.Equal(t, 3, strings.Count(config, "dims: [ -1 ]"))
	require.Equal(t, []string{"the model does not say how many dimensions some tensors have: replace dims [ -1 ] in the configuration"}, res.Notes)
	for text, want := range map[string]string{
		"":                    "EOF",
		"<net></net>":         "it has no layers of the types Parameter and Result",
		"<a><net></net></a>":  "EOF",
		ir[:len(ir)/2]:        "syntax error",
		"<net><layers></net>": "syntax error",
		strings.ReplaceAll(ir, `precision="I64"`, `precision="NF4"`): `tensor 'y' has the type "NF4"`,
		`<?xml version="1.0" encoding="UTF-7"?>` + ir[22:]:           `the encoding "UTF-7" is not supported`,
	} {
		_, err := scaffold.Write(write(t, filepath.Join(dir, "net.xml"), text), scaffold.Options{Bare: true, Output: t.TempDir()})
		require.ErrorContains(t, err, want, text)
	}
}

// message returns a field with a message.
func message(num protowire.Number, parts ...string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), strings.Join(parts, "")))
}

func number(num protowire.Number, v int64) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), uint64(v)))
}

// tensorInfo returns an entry of the inputs (1) or outputs (2) of a signature.
func tensorInfo(num protowire.Number, name string, kind int64, dims ...int64) string {
	shape := ""
	for _, d := range dims {
		shape += message(2, number(1, d))
	}
	return message(num, message(1, name), message(2, message(1, name+":0"), number(2, kind), message(3, shape)))
}

func savedModel(signatures ...string) string {
	return number(1, 1) + message(2, message(1, message(4, "serve"), message(5, "2.16")), message(2, strings.Repeat("graph", 1000)), strings.Join(signatures, ""))
}

func signatureDef(name string, tensors ...string) string {
	return message(5, message(1, name), message(2, strings.Join(tensors, ""), message(3, "predict")))
}

func TestSavedModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serving := signatureDef("serving_default", tensorInfo(1, "text", 7, -1, 2), tensorInfo(1, "image", 1, -1, 8, -1), tensorInfo(2, "score", 19, -1, 5))
	file := write(t, filepath.Join(dir, "net", "saved_model.pb"), savedModel(signatureDef("__saved_model_init_op"), signatureDef("other"), serving))
	write(t, filepath.Join(dir, "net", "variables", "variables.index"), "v")
	want := `name: "net"
backend: "tensorflow"
platform: "tensorflow_savedmodel"
max_batch_size: 4
input {
  name: "image"
  data_type: TYPE_FP32
  dims: [ 8, -1 ]
}
input {
  name: "text"
  data_type: TYPE_STRING
  dims: [ 2 ]
}
output {
  name: "score"
  data_type: TYPE_FP16
  dims: [ 5 ]
}
dynamic_batching { }
`
	for _, from := range []string{file, filepath.Join(dir, "net")} {
		config, res := written(t, from, scaffold.Options{Bare: true})
		require.Equal(t, want, config)
		require.Equal(t, []string{"net/1/model.savedmodel", "net/config.pbtxt"}, res.Files)
	}
	out := t.TempDir()
	_, err := scaffold.Write(file, scaffold.Options{Bare: true, Output: out})
	require.NoError(t, err)
	require.Equal(t, "v", read(t, filepath.Join(out, "net/1/model.savedmodel/variables/variables.index")))
	_, err = scaffold.Write(file, scaffold.Options{Bare: true, Output: out, Link: true, Name: "linked"})
	require.NoError(t, err)
	to, err := os.Readlink(filepath.Join(out, "linked/1/model.savedmodel"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "net"), to)

	write(t, file, savedModel(signatureDef("mine", tensorInfo(1, "a", 3, 2), tensorInfo(2, "b", 9, 1))))
	config, _ := written(t, file, scaffold.Options{Bare: true})
	require.Contains(t, config, "dims: [ 2 ]")
	require.Contains(t, config, "TF_SIGNATURE_DEF")
	require.NotContains(t, config, "max_batch_size")
	many := 8
	_, err = scaffold.Write(file, scaffold.Options{Bare: true, Output: t.TempDir(), MaxBatchSize: &many})
	require.ErrorContains(t, err, "the model cannot batch with --max-batch-size 8")
	for text, want := range map[string]string{
		"":     "it is not a SavedModel: it has no graph",
		"text": "it is not a SavedModel",
		savedModel(signatureDef("a", tensorInfo(1, "x", 1), tensorInfo(2, "y", 1))): "scalar tensors are not supported",
		savedModel(): `it has no signature "serving_default": it has none`,
		savedModel(signatureDef("a"), signatureDef("b")):                                  "it has a, b",
		savedModel(signatureDef("a", tensorInfo(1, "x", 8, 1), tensorInfo(2, "y", 1, 1))): "tensor 'x' has the data type 8 of TensorFlow",
		message(2, serving) + message(2, serving):                                         `none of its 2 graphs has the tag "serve"`,
		savedModel(serving)[:3000]:                                                        "truncated",
	} {
		_, err := scaffold.Write(write(t, file, text), scaffold.Options{Bare: true, Output: t.TempDir()})
		require.ErrorContains(t, err, want)
	}
}

// torchScript writes an archive whose root is a class in the module of a file of code.
func torchScript(t *testing.T, path, module, class, code string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{"net/data.pkl", "\x80\x02c" + module + "\n" + class + "\nq\x00)\x81}."},
		{"net/version", "3\n"},
		{"net/code/" + strings.ReplaceAll(module, ".", "/") + ".py", code},
	} {
		w, err := z.Create(f[0])
		require.NoError(t, err)
		_, err = w.Write([]byte(f[1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return write(t, path, b.String())
}

func TestTorchScript(t *testing.T) {
	t.Parallel()
	head := "class Other(Module):\n  def forward(self: __torch__.Other,\n    z: Tensor) -> Tensor:\n    return z\nclass Net(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n  def forward(self: __torch__.a.Net,\n    "
	path := filepath.Join(t.TempDir(), "net.pt")
	config, res := written(t, torchScript(t, path, "__torch__.a", "Net", head+"x: Tensor,\n    mask: Tensor,\n    scale: float=1.) -> Tuple[Tensor, Tensor]:\n    return (x, mask)\n"), scaffold.Options{Bare: true})
	require.Equal(t, []string{"net/1/model.pt", "net/config.pbtxt"}, res.Files)
	require.Len(t, res.Notes, 3)
	require.Contains(t, res.Notes[1], "argument 'scale' of forward has its default")
	want := `name: "net"
backend: "pytorch"
platform: "pytorch_libtorch"
`
	for _, x := range [][2]string{{"input", "x"}, {"input", "mask"}, {"output", "OUTPUT__0"}, {"output", "OUTPUT__1"}} {
		want += x[0] + " {\n  name: \"" + x[1] + "\"\n  data_type: TYPE_FP32\n  dims: [ -1 ]\n}\n"
	}
	require.Equal(t, want, config)
	many := 8
	config, _ = written(t, path, scaffold.Options{Bare: true, MaxBatchSize: &many})
	require.Equal(t, strings.Replace(want, "input", "max_batch_size: 8\ninput", 1)+"dynamic_batching { }\n", config)
	config, res = written(t, torchScript(t, path, "__torch__.a", "Net", head+"x: Tensor) -> Dict[str, Tensor]:\n    return {}\n"), scaffold.Options{Bare: true})
	require.Contains(t, config, `name: "OUTPUT__0"`)
	require.Contains(t, res.Notes[1], "forward returns Dict[str, Tensor]")

	for code, want := range map[string]string{
		head + "n: int) -> Tensor:\n":                             "argument 'n' of forward is int: the backend passes tensors only",
		head + "x: List[Tensor]) -> int:\n":                       "argument 'x' of forward is List[Tensor]",
		head + "x: Tensor":                                        "the head of forward is truncated",
		strings.Split(head, "  def forward(self: __torch__.a")[0]: "has no method forward",
		"": "the class Net is not in its file",
		"class Net(Module):\n  def forward(self: __torch__.Net) -> Tensor:\n": "forward takes no tensor",
	} {
		_, err := scaffold.Write(torchScript(t, path, "__torch__.a", "Net", code), scaffold.Options{Bare: true, Output: t.TempDir()})
		require.ErrorContains(t, err, want, code)
	}
	for _, module := range []string{"collections", "__torch__/../a", "__torch__"} {
		_, err := scaffold.Write(torchScript(t, path, module, "OrderedDict", ""), scaffold.Options{Bare: true, Output: t.TempDir()})
		require.Error(t, err, module)
	}
	_, err := scaffold.Write(write(t, path, "no archive"), scaffold.Options{Bare: true, Output: t.TempDir()})
	require.ErrorContains(t, err, "is not a TorchScript archive: ")
}

// TestTraced reads an archive that PyTorch 2.15 has written with a seed: forward(self, x, mask) of
// a traced module returns two tensors.
func TestTraced(t *testing.T) {
	t.Parallel()
	config, res := written(t, "testdata/traced.pt", scaffold.Options{Bare: true})
	require.Equal(t, []string{"traced/1/model.pt", "traced/config.pbtxt"}, res.Files)
	require.Equal(t, []string{"x", "mask", "OUTPUT__0", "OUTPUT__1"}, names(config))
}

// names returns the names of the tensors of a configuration.
func names(config string) (all []string) {
	for line := range strings.Lines(config) {
		if name, ok := strings.CutPrefix(line, `  name: "`); ok {
			all = append(all, strings.TrimSuffix(name, "\"\n"))
		}
	}
	return all
}
