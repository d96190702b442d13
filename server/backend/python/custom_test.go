package python

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
)

// newRuntime writes a backend in Python and makes it the harness's.
func (h *harness) newRuntime(source string) (folder string) {
	folder = filepath.Join(h.t.TempDir(), "mine")
	require.NoError(h.t, os.MkdirAll(folder, 0o755))
	require.NoError(h.t, os.WriteFile(filepath.Join(folder, "model.py"), []byte(header+source), 0o644))
	require.NoError(h.t, os.WriteFile(filepath.Join(folder, "beside.py"), []byte("word = 'beside'\n"), 0o644))
	return folder
}

// TestRuntime: a backend in Python runs models that have no code. Its folder is on
// sys.path, the model's are not, and get_model_dir is the model's version folder.
func TestRuntime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, "raise ValueError('the model has code')\n")
	folder := h.newRuntime(`
import os, sys
import beside
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(c):
        c.set_max_batch_size(3)
        return c
    def initialize(self, args):
        print(__name__, __file__, beside.word, pb_utils.get_model_dir(), args["model_repository"], args["model_version"], args["model_name"])
        print([p for p in sys.path if "mine" in p or p == pb_utils.get_model_dir()])
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy() * 2)]) for r in requests]
`)
	mine := h.backend.Runtime(folder)
	require.NoError(t, mine.(backend.AutoCompleter).AutoComplete(t.Context(), h.spec))
	require.EqualValues(t, 3, h.spec.Config.GetMaxBatchSize())
	m, err := mine.Load(t.Context(), h.spec)
	require.NoError(t, err)
	in, err := m.NewInstance(t.Context(), backend.Placement{Name: "m_0"})
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.NoError(t, m.Close())
	said := h.logged()
	require.Contains(t, said, strings.Join([]string{"model", filepath.Join(folder, "model.py"), "beside", h.spec.Dir, filepath.Dir(h.spec.Dir), "1", "m"}, " "))
	require.Contains(t, said, "['"+folder+"']")
}
