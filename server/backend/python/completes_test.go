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
		{"Windows", strings.ReplaceAll(plain, "\n", "\r\n"), false},
		{"NVIDIA's text", "class TritonPythonModel:\n    \"\"\"Every Python model must have \"TritonPythonModel\" as the class name.\n    \"\"\"\n", false},
		{"known encoding", "#!/usr/bin/env python\n# -*- coding: UTF-8 -*-\n# \u4e2d\u6587\n" + plain, false},
		{"Python's decorators", plain + "    @staticmethod\n    def f():\n        pass\n    @torch.no_grad()\n    def g():\n        pass\n", false},
		{"methods of others", plain + "        request.exec()\n        net.eval()\n        # its modules\n", false},
		{"a module by name", "def f():\n    sys.modules['model'].x = 1\n" + plain, true},
		{"definitions after it", plain + "\n# of it\ndef f():\n    pass\n\nclass C:\n    pass\n", false},
		{"another encoding", "# coding: utf-7\n" + plain, true},
		{"another encoding first", "# coding: utf-7\n# coding: utf-8\n" + plain, true},
		{"invalid UTF-8", "# \xff\n" + plain, true},
		{"a byte order mark", "\ufeff@model\n" + plain, true},
		{"old line ends", "x = 1\r@model\n" + plain, true},
		{"a form feed", "x = 1\n\f@model\n" + plain, true},
		{"full-width letters", plain + "    def \uff41uto_complete_config(c):\n        return c\n", true},
		{"an ordinal is a letter", plain + "    def aut\u00ba_complete_config(c):\n        return c\n", true},
		{"another class with a base", plain + "class TritonPythonModel(Base):\n    pass\n", true},
		{"an indented class with a base", plain + "if True:\n    class TritonPythonModel(Base):\n        pass\n", true},
		{"a function", plain + "def TritonPythonModel():\n    return Base()\n", true},
		{"under another name", plain + "M = TritonPythonModel\ninstall(M)\n", true},
		{"an argument on a line", plain + "add(\n    1, TritonPythonModel\n)\n", true},
		{"star on another line", plain + "from m import \\\n    *\n", true},
		{"star in parentheses", plain + "from m import(*\n)\n", true},
		{"exec", plain + "exec(open('more.py').read())\n", true},
		{"exec before", "def f(): exec(text)\n" + plain, true},
		{"a call after it", plain + "install(__name__)\n", true},
		{"an import after it", plain + "import install\n", true},
		{"a decorated function after it", plain + "@install\ndef f():\n    pass\n", true},
		{"code in the class", plain + "    locals()['auto_' + 'complete_config'] = f\n", true},
		{"a decorator of a method", plain + "    @complete\n    def f():\n        pass\n", true},
		{"a decorator with text", "@model(\"\"\"\ntext\n\"\"\")\n" + plain, true},
		{"a decorator with arguments on lines", "@model(\n1,\n)\n" + plain, true},
		{"object is another class", "from m import Base as object\n" + strings.Replace(plain, ":", "(object):", 1), true},
		{"object is set", "object = m.Base\n" + strings.Replace(plain, ":", "(object):", 1), true},
		{"type parameters", strings.Replace(plain, ":", "[T]:", 1), true},
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
