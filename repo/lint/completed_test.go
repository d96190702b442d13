package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo/lint"
)

// What a load completes is no mistake of the configuration; seen in published repositories.
func TestCompletedConfigurations(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	const (
		partial = `output [ { name: "y" data_type: TYPE_FP32 }, { name: "z" dims: [ 4 ] } ]`
		class   = "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n"
	)
	for name, tc := range map[string]struct {
		config, file, text string
		want               []string
	}{
		"python without":   {`backend: "python" ` + partial, "1/model.py", class, []string{"TRN202", "TRN203"}},
		"python completes": {`backend: "python" ` + partial, "1/model.py", class + "    @staticmethod\n    def auto_complete_config(c):\n        return c\n", nil},
		"python inherits":  {`backend: "python" ` + partial, "1/model.py", "from elsewhere import TritonPythonModel\n", nil},
		"no weights":       {`backend: "python" ` + partial, "1/README", "", nil},
		"dali":             {`backend: "dali" ` + partial, "1/model.dali", "x", nil},
		"tensorrt":         {`platform: "tensorrt_plan" instance_group [ { kind: KIND_GPU profile: [ "1" ] } ] max_batch_size: 4 ` + partial, "1/README", "", nil},
		"another server's": {`backend: "of_mine" ` + partial, "1/model.bin", "x", []string{"TRN108"}},
	} {
		dir := filepath.Join(t.TempDir(), "m")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(tc.config), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600))
		var got []string
		for _, f := range check(t, dir, lint.Options{NoWeights: true, Python: "python3"}) {
			if f.Severity.String() == "error" {
				got = append(got, f.Rule)
			}
		}
		require.ElementsMatch(t, tc.want, got, name)
	}
}
