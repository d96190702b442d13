package python

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const plain = "class TritonPythonModel:\n    def execute(self, requests):\n        pass\n"

func TestCompletes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a plain class", "import json\n\nlog = print(json)\n" + plain, false},
		{"a class of Python 2", strings.Replace(plain, ":", "(object):", 1), false},
		{"no bases", strings.Replace(plain, ":", " ( ) :", 1), false},
		{"a text about the class", `"""Every model must have "TritonPythonModel" as the class name."""` + "\n" + plain, false},
		{"a decorated function before", "@cache\ndef f():\n    pass\n\n" + plain, false},
		{"the method", plain + "    @staticmethod\n    def auto_complete_config(c):\n        return c\n", true},
		{"a part of the name", plain + "NAME = 'auto_complete_' + 'config'\n", true},
		{"a base", strings.Replace(plain, ":", "(Base):", 1), true},
		{"a metaclass", strings.Replace(plain, ":", "(metaclass=M):", 1), true},
		{"a decorator", "@model\n" + plain, true},
		{"a decorator and a comment", "@model\n\n# the model\n" + plain, true},
		{"a decorator of several lines", "@model(\n    1,\n)\n" + plain, true},
		{"no class", "pass\n", true},
		{"an indented class", "if True:\n    class TritonPythonModel:\n        pass\n", true},
		{"two classes", plain + plain, true},
		{"imported", "from m import TritonPythonModel\n", true},
		{"imported under its name", plain + "from m import Model as TritonPythonModel\n", true},
		{"imported on its own line", plain + "from m import (\n    Model,\n    TritonPythonModel\n)\n", true},
		{"everything is imported", plain + "from m import *\n", true},
		{"replaced", plain + "TritonPythonModel = wrap(TritonPythonModel)\n", true},
		{"changed", plain + "add(TritonPythonModel)\n", true},
		{"a new attribute", plain + "setattr(TritonPythonModel , name, f)\n", true},
		{"replaced by name", plain + "globals()[\"TritonPythonModel\"] = Model\n", true},
		{"set by name", plain + "setattr(me, 'TritonPythonModel', Model)\n", true},
		{"too large", plain + "#" + strings.Repeat("x", maxScanned), true},
	} {
		file := filepath.Join(t.TempDir(), "model.py")
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
		require.Equal(t, c.want, completes(file), c.name)
	}
	require.True(t, completes(filepath.Join(t.TempDir(), "none.py")), "the process tells what is wrong")
}

// TestImportedOnce: a model without auto_complete_config is not imported to find that out.
func TestImportedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ more, want string }{
		"without": {"", "x"},
		"with":    {"    @staticmethod\n    def auto_complete_config(c):\n        return c\n", "xx"},
	} {
		file := filepath.Join(t.TempDir(), "imports")
		h := newHarness(t, "with open('"+file+"', 'a') as f:\n    f.write('x')\n\n"+plain+c.more)
		require.NoError(t, h.backend.AutoComplete(t.Context(), h.spec), name)
		require.NoError(t, h.load(), name)
		imports, err := os.ReadFile(file)
		require.NoError(t, err, name)
		require.Equal(t, c.want, string(imports), name)
	}
}
