package server_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/repo"
	"triton/repo/lint"
	"triton/server"
	"triton/server/servertest"
)

// The models that `repo example --trained` writes to read pictures, with stand-ins for the two
// trained graphs: a dark pixel is text, and each dark block of a line is the character X.

// darkPixels is the stand-in for text_detection: 1 near dark pixels, 0 elsewhere.
func darkPixels() *onnxmodel.File {
	return &onnxmodel.File{
		IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "dark_pixels",
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("x", onnxmodel.Float, "n", 3, "h", "w")},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("sigmoid_0.tmp_0", onnxmodel.Float, "n", 1, "h", "w")},
		Weights: []onnxmodel.Weight{onnxmodel.Floats("gray", nil, 0)},
		Nodes: []onnxmodel.Node{
			node("ReduceMean", "mean", []string{"x"}, onnxmodel.IntsAttr("axes", 1)),
			node("Less", "dark", []string{"mean", "gray"}),
			node("Cast", "flag", []string{"dark"}, onnxmodel.IntAttr("to", int64(onnxmodel.Float))),
			node("MaxPool", "sigmoid_0.tmp_0", []string{"flag"}, onnxmodel.IntsAttr("kernel_shape", 1, 31), onnxmodel.IntsAttr("pads", 0, 15, 0, 15)),
		},
	}
}

// darkColumns is the stand-in for text_recognition: class 1 for 8 columns with a dark pixel,
// else class 0.
func darkColumns() *onnxmodel.File {
	return &onnxmodel.File{
		IRVersion: 8, Opsets: []onnxmodel.Opset{{Version: 17}}, Graph: "dark_columns",
		Inputs:  []onnxmodel.Value{onnxmodel.Tensor("x", onnxmodel.Float, "n", 3, 48, "w")},
		Outputs: []onnxmodel.Value{onnxmodel.Tensor("softmax_11.tmp_0", onnxmodel.Float, "n", "columns", 2)},
		Weights: []onnxmodel.Weight{
			onnxmodel.Floats("gray", nil, -0.5), onnxmodel.Floats("one", nil, 1), onnxmodel.Ints("axis_1", []int64{1}, 1),
		},
		Nodes: []onnxmodel.Node{
			node("ReduceMin", "darkest", []string{"x"}, onnxmodel.IntsAttr("axes", 1, 2), onnxmodel.IntAttr("keepdims", 0)),
			node("Less", "dark", []string{"darkest", "gray"}),
			node("Cast", "flag", []string{"dark"}, onnxmodel.IntAttr("to", int64(onnxmodel.Float))),
			node("Unsqueeze", "channel", []string{"flag", "axis_1"}),
			node("MaxPool", "pooled", []string{"channel"}, onnxmodel.IntsAttr("kernel_shape", 8), onnxmodel.IntsAttr("strides", 8)),
			node("Transpose", "x_class", []string{"pooled"}, onnxmodel.IntsAttr("perm", 0, 2, 1)),
			node("Sub", "blank_class", []string{"one", "x_class"}),
			node("Concat", "softmax_11.tmp_0", []string{"blank_class", "x_class"}, onnxmodel.IntAttr("axis", 2)),
		},
	}
}

func node(op, output string, inputs []string, attrs ...onnxmodel.Attr) onnxmodel.Node {
	return onnxmodel.Node{Op: op, Inputs: inputs, Outputs: []string{output}, Attrs: attrs}
}

func writeModel(t *testing.T, dir, config string, graph *onnxmodel.File) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(config), 0o644))
	var b bytes.Buffer
	require.NoError(t, graph.Write(&b))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1", "model.onnx"), b.Bytes(), 0o644))
}

// ocrModels writes the models with the stand-ins. At most two lines are a batch.
func ocrModels(t *testing.T) string {
	t.Helper()
	const from = "../repo/example/ocr"
	dir := t.TempDir()
	for _, name := range []string{"ocr", "ocr_bls", "ocr_image", "ocr_lines", "ocr_text"} {
		to := filepath.Join(dir, name)
		require.NoError(t, os.CopyFS(to, os.DirFS(filepath.Join(from, name))))
		config := filepath.Join(to, "config.pbtxt")
		text, err := os.ReadFile(config)
		require.NoError(t, err)
		text = bytes.ReplaceAll(text, []byte("6625"), []byte("2"))
		text = bytes.ReplaceAll(text, []byte(`"32"`), []byte(`"2"`))
		at := bytes.Index(text, []byte(`parameters { key: "python_requirements"`))
		if at >= 0 { // the packages are those of the interpreter: nothing is installed
			text = text[:at]
			require.NoError(t, os.CopyFS(to, os.DirFS(filepath.Join(from, "shared"))))
			require.NoError(t, os.WriteFile(filepath.Join(to, "1", "characters.txt"), []byte("X"), 0o644))
		} else {
			require.NoError(t, os.MkdirAll(filepath.Join(to, "1"), 0o755))
		}
		require.NoError(t, os.WriteFile(config, text, 0o644))
	}
	detection, err := os.ReadFile(filepath.Join(from, "text_detection", "config.pbtxt"))
	require.NoError(t, err)
	writeModel(t, filepath.Join(dir, "text_detection"), string(detection), darkPixels())
	recognition, err := os.ReadFile(filepath.Join(from, "..", "trained", "text_recognition.pbtxt"))
	require.NoError(t, err)
	config := strings.NewReplacer("6625", "2", "max_batch_size: 32", "max_batch_size: 2").Replace(string(recognition))
	writeModel(t, filepath.Join(dir, "text_recognition"), config, darkColumns())
	return dir
}

// blocks draws lines of dark blocks, one below the other.
func blocks(lines ...int) *image.Gray {
	picture := image.NewGray(image.Rect(0, 0, 420, 60+120*len(lines)))
	draw.Draw(picture, picture.Rect, image.White, image.Point{}, draw.Src)
	for i, n := range lines {
		for k := range n {
			x, y := 40+44*k, 50+120*i
			draw.Draw(picture, image.Rect(x, y, x+20, y+20), image.NewUniform(color.Gray{20}), image.Point{}, draw.Src)
		}
	}
	return picture
}

func asPNG(t *testing.T, picture image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, picture))
	return b.Bytes()
}

// read asks a model for the text of an image file.
func read(t *testing.T, g inferencepb.GRPCInferenceServiceClient, model string, file []byte) (texts []string, boxes []int32, err error) {
	t.Helper()
	answer, err := g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
		ModelName:        model,
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "image", Datatype: "BYTES", Shape: []int64{1}}},
		RawInputContents: [][]byte{append(binary.LittleEndian.AppendUint32(nil, uint32(len(file))), file...)},
	})
	if err != nil {
		return nil, nil, err
	}
	raw := map[string][]byte{}
	for i, o := range answer.Outputs {
		raw[o.Name] = answer.RawOutputContents[i]
	}
	for b := raw["text"]; len(b) > 0; {
		end := 4 + binary.LittleEndian.Uint32(b)
		texts = append(texts, string(b[4:end]))
		b = b[end:]
	}
	boxes = make([]int32, len(raw["box"])/4)
	_, err = binary.Decode(raw["box"], binary.LittleEndian, boxes)
	require.NoError(t, err)
	require.Len(t, boxes, 4*len(texts))
	require.Len(t, raw["score"], 4*len(texts))
	return texts, boxes, nil
}

func needsPillow(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), needsPython(t), "-c", "import PIL.Image").CombinedOutput(); err != nil {
		t.Skipf("needs Pillow in .venv: run `make .venv/.stamp`: %s", out)
	}
}

// TestOCR asks the ensemble and the model that calls the graphs for the same pictures.
func TestOCR(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a pipeline of Python models")
	}
	needsONNX(t)
	needsPillow(t)
	dir := ocrModels(t)
	models, err := repo.Open(dir)
	require.NoError(t, err)
	require.Empty(t, mistakes(lint.Check(models, lint.Options{Python: needsPython(t)})))

	s := startPython(t, dir)
	g := dial(t, s.GRPC)
	var jpg bytes.Buffer
	require.NoError(t, jpeg.Encode(&jpg, blocks(3, 5), nil))
	var wg sync.WaitGroup
	for _, model := range []string{"ocr", "ocr_bls"} {
		for range 2 {
			wg.Go(func() {
				texts, boxes, err := read(t, g, model, asPNG(t, blocks(3, 5)))
				require.NoError(t, err, model)
				require.Equal(t, []string{"XXX", "XXXXX"}, texts, model)
				for i, want := range []image.Rectangle{image.Rect(40, 50, 148, 70), image.Rect(40, 170, 236, 190)} {
					box := image.Rect(int(boxes[4*i]), int(boxes[4*i+1]), int(boxes[4*i+2]), int(boxes[4*i+3]))
					require.True(t, want.In(box), "%s: %v in %v", model, want, box)
					require.True(t, box.In(want.Inset(-45)), "%s: %v around %v", model, box, want)
				}
				texts, _, err = read(t, g, model, jpg.Bytes())
				require.NoError(t, err, model)
				require.Equal(t, []string{"XXX", "XXXXX"}, texts, model)

				texts, _, err = read(t, g, model, asPNG(t, blocks()))
				require.NoError(t, err, model)
				require.Empty(t, texts, "a picture without text")
			})
		}
	}
	wg.Wait()

	for file, want := range map[string]string{
		"no picture":                      "the image cannot be read: its 10 bytes are in no format that Pillow knows",
		"":                                "the image cannot be read: its 0 bytes are in no format that Pillow knows",
		string(asPNG(t, blocks(3)))[:120]: "the image cannot be read: ",
		"P5\n8000 8000\n255\n":            "the image cannot be read: it has 8000 x 8000 pixels, more than 50000000",
	} {
		for model, prefix := range map[string]string{"ocr": "in ensemble 'ocr', ", "ocr_bls": ""} {
			_, _, err := read(t, g, model, []byte(file))
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
			require.Contains(t, status.Convert(err).Message(), prefix+want)
		}
	}

	// More lines than a batch of text_recognition.
	many := asPNG(t, blocks(1, 2, 3, 4, 5))
	_, _, err = read(t, g, "ocr", many)
	require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "in ensemble 'ocr', the picture has 5 lines of text, more than 2: ask ocr_bls")
	texts, _, err := read(t, g, "ocr_bls", many)
	require.NoError(t, err)
	require.Equal(t, []string{"X", "XX", "XXX", "XXXX", "XXXXX"}, texts)
}

// TestOCRWithoutPillow hides the package from the interpreter.
func TestOCRWithoutPillow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: a pipeline of Python models")
	}
	needsONNX(t)
	dir := ocrModels(t)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "ocr")))
	for _, name := range []string{"ocr_image", "ocr_bls"} {
		path := filepath.Join(dir, name, "1", "ocr.py")
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(source, "\nimport sys\nsys.modules['PIL'] = None\n"...), 0o644))
	}
	s := startPython(t, dir, servertest.With(func(o *server.Options) { o.ExitOnError = false }))
	_, text, err := post(newClient(t), "http://"+s.HTTP+"/v2/repository/index", "")
	require.NoError(t, err)
	for _, name := range []string{"ocr_image", "ocr_bls"} {
		require.Contains(t, text, name)
	}
	require.Equal(t, 2, strings.Count(text, ": pictures are decoded by the Python package pillow. Keep python_requirements in config.pbtxt"), text)
}
