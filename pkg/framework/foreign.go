package framework

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Format is a format of model files that no backend reads.
type Format struct {
	Name string // of the format
	Hint string // how to make a model of it that is served
}

// The exports are those of current PyTorch, Keras and tf2onnx.
const (
	exportTorch = `in Python, build the module, load the weights into it and write ` +
		`torch.onnx.export(module.eval(), args, "model.onnx", dynamo=True) or torch.jit.script(module.eval()).save("model.pt")`
	exportKeras = `write keras.models.load_model(file).export("model.savedmodel") in Python; then python -m tf2onnx.convert ` +
		`--saved-model model.savedmodel --output model.onnx makes an ONNX model of it`
)

var (
	formatSafetensors = &Format{"a safetensors file, which has weights and no model", exportTorch}
	formatGGUF        = &Format{"a GGUF file of llama.cpp", `write a model.py that loads it with llama-cpp-python, and backend: "python"`}
	formatHDF5        = &Format{"an HDF5 file, such as Keras writes", exportKeras}
	formatKeras       = &Format{"a .keras file", exportKeras}
	formatTFLite      = &Format{"a TensorFlow Lite model", "run python -m tf2onnx.convert --tflite model.tflite --output model.onnx"}
	formatStateDict   = &Format{"a state_dict of PyTorch, which has weights and no model", exportTorch}
	formatModule      = &Format{"a module that torch.save pickled, which needs its Python code", exportTorch}
	formatExported    = &Format{"a program of torch.export", `write torch.onnx.export(torch.export.load(file), dynamo=True).save("model.onnx") in Python, ` +
		`or torch._inductor.aoti_compile_and_package(torch.export.load(file), package_path="model.pt2") and platform: "torch_aoti"`}
	formatCompiled = &Format{"a package of AOTInductor", `name it model.pt2 and write platform: "torch_aoti"`}
	formatPickle   = &Format{"a Python pickle", `write backend: "sklearn" for a model of scikit-learn, or a model.py that loads it and backend: "python"; or convert the model to ONNX with skl2onnx`}
)

// magics begin the files of formats.
var magics = []struct {
	at     int
	magic  string
	format *Format
}{
	{0, "GGUF", formatGGUF},
	{0, "\x89HDF\r\n\x1a\n", formatHDF5},
	{4, "TFL3", formatTFLite},
	{0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", formatStateDict}, // torch.save before 1.6
	{0, "\x80\x03", formatPickle},
	{0, "\x80\x04\x95", formatPickle},
	{0, "\x80\x05\x95", formatPickle},
}

// Foreign recognizes, by its content, a file in a format that no backend reads. It returns nil for others.
func Foreign(file string) *Format {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := openFile(file)
	if err != nil {
		return nil
	}
	defer f.Close() // nothing was written
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	head = head[:n]
	for _, m := range magics {
		if len(head) > m.at && bytes.HasPrefix(head[m.at:], []byte(m.magic)) {
			return m.format
		}
	}
	switch {
	case isSafetensors(head, info.Size()):
		return formatSafetensors
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		if z, err := zip.NewReader(f, info.Size()); err == nil {
			return foreignArchive(z)
		}
	}
	return nil
}

// Advice says in what format the model file of a version is when no backend reads it, and what to do about it. When the
// file is missing, it says so of the first other file. It is empty when there is nothing to say.
func Advice(version, file string) string {
	names := []string{file}
	if _, err := os.Stat(filepath.Join(version, file)); file == "" || err != nil {
		entries, err := os.ReadDir(version)
		if err != nil {
			return ""
		}
		names = nil
		for _, e := range entries {
			names = append(names, e.Name())
		}
	} else if file == compiledName && Foreign(filepath.Join(version, file)) == formatCompiled {
		return ""
	}
	for _, name := range names {
		if f := Foreign(filepath.Join(version, name)); f != nil {
			return fmt.Sprintf("%s is %s: %s", filepath.Join(filepath.Base(version), name), f.Name, f.Hint)
		}
	}
	return ""
}

// compiledName is the name under which the PyTorch backend reads a package of AOTInductor.
const compiledName = "model.pt2"

// isSafetensors reports whether a file begins with the length of a JSON object, and the object.
func isSafetensors(head []byte, size int64) bool {
	if len(head) < 10 {
		return false
	}
	n := binary.LittleEndian.Uint64(head)
	return n >= 2 && n <= uint64(size-8) && head[8] == '{' && (head[9] == '"' || head[9] == '}' || head[9] == ' ')
}

// foreignArchive recognizes a zip archive; nil: it may be TorchScript.
func foreignArchive(z *zip.Reader) *Format {
	var pickled *zip.File
	var found *Format
	for _, f := range z.File {
		dir, name := path.Split(f.Name)
		switch {
		case strings.Contains(dir, "aotinductor/"):
			return formatCompiled
		case strings.HasSuffix(dir, "code/__torch__/"), strings.HasSuffix(dir, "code/"):
			return nil
		case name == "serialized_exported_program.json", strings.HasSuffix(dir, "models/") && strings.HasSuffix(name, ".json"):
			found = formatExported
		case name == "model.weights.h5":
			found = formatKeras
		case name == "data.pkl" && strings.Count(dir, "/") == 1:
			pickled = f
		}
	}
	switch {
	case found != nil:
		return found
	case pickled == nil:
		return nil
	case holdsObject(pickled):
		return formatModule
	}
	return formatStateDict
}

// holdsObject reports whether a pickle begins with a class of its own; a state_dict is a dictionary.
func holdsObject(f *zip.File) bool {
	r, err := f.Open()
	if err != nil {
		return false
	}
	defer r.Close() // nothing was written
	head := make([]byte, 32)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	head = head[:n]
	return len(head) > 3 && head[0] == 0x80 && head[2] == 'c' && !bytes.HasPrefix(head[3:], []byte("collections\n")) // PROTO, GLOBAL
}
