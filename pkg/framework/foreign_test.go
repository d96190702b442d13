package framework

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestForeign recognizes files by their content, whatever their names are.
func TestForeign(t *testing.T) {
	t.Parallel()
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "model")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	archive := func(files map[string]string) string {
		path := filepath.Join(t.TempDir(), "model")
		f, err := os.Create(path)
		require.NoError(t, err)
		z := zip.NewWriter(f)
		for name, content := range files {
			w, err := z.Create(name)
			require.NoError(t, err)
			_, err = w.Write([]byte(content))
			require.NoError(t, err)
		}
		require.NoError(t, z.Close())
		require.NoError(t, f.Close())
		return path
	}
	for name, c := range map[string]struct {
		path string
		want *Format
	}{
		"safetensors":         {write("\x13\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F\"}}"), formatSafetensors},
		"gguf":                {write("GGUF\x03\x00\x00\x00"), formatGGUF},
		"hdf5":                {write("\x89HDF\r\n\x1a\n\x00\x00"), formatHDF5},
		"tflite":              {write("\x1c\x00\x00\x00TFL3\x14\x00"), formatTFLite},
		"old torch.save":      {write("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02"), formatStateDict},
		"pickle":              {write("\x80\x04\x95\x0b\x00\x00\x00"), formatPickle},
		"state_dict":          {archive(map[string]string{"archive/data.pkl": "\x80\x02ccollections\nOrderedDict\nq\x00)R", "archive/data/0": "x"}), formatStateDict},
		"checkpoint":          {archive(map[string]string{"ckpt/data.pkl": "\x80\x02}q\x00(X\x05\x00\x00\x00state"}), formatStateDict},
		"module":              {archive(map[string]string{"archive/data.pkl": "\x80\x02c__main__\nNet\nq\x00)\x81q\x01}"}), formatModule},
		"torch.export":        {archive(map[string]string{"serialized_exported_program.json": "{}"}), formatExported},
		"torch.export, later": {archive(map[string]string{"m/archive_format": "pt2", "m/models/model.json": "{}"}), formatExported},
		"AOTInductor":         {archive(map[string]string{"m/archive_format": "pt2", "m/models/model.json": "{}", "m/data/aotinductor/model/a.so": "x"}), formatCompiled},
		"keras":               {archive(map[string]string{"config.json": "{}", "model.weights.h5": "x"}), formatKeras},
		"TorchScript":         {archive(map[string]string{"m/data.pkl": "\x80\x02c__torch__\nNet\n", "m/code/__torch__.py": "x"}), nil},
		"another archive":     {archive(map[string]string{"a": "b"}), nil},
		"ONNX":                {write("\x08\x08\x12\x07pytorch"), nil},
		"text":                {write("{}"), nil},
		"empty":               {write(""), nil},
		"no zip":              {write("PK\x03\x04 and so on"), nil},
		"folder":              {t.TempDir(), nil},
		"absent":              {filepath.Join(t.TempDir(), "none"), nil},
	} {
		got := Foreign(c.path)
		require.Equal(t, c.want, got, name)
		if got != nil {
			require.NotEmpty(t, got.Hint)
		}
	}
}

// TestAdvice names the model file, or what is in its place; what a backend reads is no matter for advice.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const gguf, st, compiled = "GGUF\x03\x00\x00\x00", "\x13\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F\"}}", "m/data/aotinductor/model/a.so"
	for name, c := range map[string]struct {
		files map[string]string
		file  string
		want  string
	}{
		"the model file":          {map[string]string{"model.onnx": st, "a.gguf": gguf}, "model.onnx", "1/model.onnx is " + formatSafetensors.Name + ": " + formatSafetensors.Hint},
		"in its place":            {map[string]string{"model.gguf": gguf, "README": "x"}, "model.onnx", "1/model.gguf is " + formatGGUF.Name + ": " + formatGGUF.Hint},
		"no name":                 {map[string]string{"model.gguf": gguf}, "", "1/model.gguf is " + formatGGUF.Name + ": " + formatGGUF.Hint},
		"weights beside a model":  {map[string]string{"model.py": "pass", "weights.safetensors": st}, "model.py", ""},
		"a package that is read":  {map[string]string{"model.pt2": compiled}, "model.pt2", ""},
		"a package without a use": {map[string]string{"model.pt2": compiled}, "model.pt", "1/model.pt2 is " + formatCompiled.Name + ": " + formatCompiled.Hint},
		"nothing":                 {nil, "model.onnx", ""},
	} {
		dir := filepath.Join(t.TempDir(), "1")
		require.NoError(t, os.Mkdir(dir, 0o700))
		for file, content := range c.files {
			path := filepath.Join(dir, file)
			if content != compiled {
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
				continue
			}
			f, err := os.Create(path)
			require.NoError(t, err)
			z := zip.NewWriter(f)
			_, err = z.Create(content)
			require.NoError(t, err)
			require.NoError(t, z.Close())
			require.NoError(t, f.Close())
		}
		require.Equal(t, c.want, Advice(dir, c.file), name)
	}
	require.Empty(t, Advice(filepath.Join(t.TempDir(), "none"), "model.onnx"))
}
