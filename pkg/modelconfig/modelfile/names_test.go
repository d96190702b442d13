package modelfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/modelfile"
)

// fields are all fields of a configuration that name a file of the model; %s is the name. Those that
// read have content that callers can get. findings checks one.
var fields = map[string]struct {
	text     string
	folder   string // of the file, in the model's
	reads    bool
	findings func(c *modelconfig.Config, dir string) []modelconfig.Finding
}{
	"default_model_filename": {`default_model_filename: "%s"`, "1", false, names},
	"cc_model_filenames":     {`cc_model_filenames { key: "8.0" value: "%s" }`, "1", false, names},
	"label_filename":         {`output { name: "A" label_filename: "%s" }`, ".", true, modelfile.Labels},
	"input_data_file": {`input { name: "X" data_type: TYPE_UINT8 dims: [ 1 ] }
		model_warmup { name: "w" batch_size: 1 inputs { key: "X" value { data_type: TYPE_UINT8 dims: [ 1 ] input_data_file: "%s" } } }`, "warmup", true, modelfile.Warmup},
	"data_file": {`sequence_batching { state { input_name: "S" output_name: "T" data_type: TYPE_UINT8 dims: [ 1 ]
		initial_state { name: "i" data_type: TYPE_UINT8 dims: [ 1 ] data_file: "%s" } } }`, "initial_state", true, modelfile.States},
}

func names(c *modelconfig.Config, _ string) (found []modelconfig.Finding) {
	for _, f := range c.Validate() {
		if f.Rule == "TRN522" {
			found = append(found, f)
		}
	}
	return found
}

// TestNamesOfFiles: no name leads out of its folder. What callers can read is not behind a link that
// leads out of the repository; links inside, such as those of Kubernetes, are followed.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	for field, f := range fields {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			dir := filepath.Join(outer, "repository", "m")
			folder := filepath.Join(dir, f.folder)
			secret := filepath.Join(outer, "secret")
			require.NoError(t, os.MkdirAll(filepath.Join(folder, "..2026"), 0o755))
			for _, path := range []string{secret, filepath.Join(folder, "..2026", "file"), filepath.Join(folder, "file"), filepath.Join(outer, "repository", "shared")} {
				require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
			}
			require.NoError(t, os.Symlink("..2026", filepath.Join(folder, "..data")))
			require.NoError(t, os.Symlink("..data/file", filepath.Join(folder, "mounted")))
			require.NoError(t, os.Symlink(secret, filepath.Join(folder, "away")))
			require.NoError(t, os.Symlink(outer, filepath.Join(folder, "up")))
			for name, bad := range map[string]bool{
				"file": false, "mounted": false, "..data/file": false,
				"away": f.reads, "up/secret": f.reads,
				"../../secret": true, "no/../file": true, "..": true, secret: true, "/etc/passwd": true,
			} {
				c := parse(t, strings.ReplaceAll(f.text, "%s", name))
				require.Equal(t, bad, len(f.findings(c, dir)) > 0, name)
			}
		})
	}
}

// A configuration is a file of its repository.
func TestConfigurationBehindLinks(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	dir := filepath.Join(outer, "repository", "m")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, path := range []string{filepath.Join(outer, "secret"), filepath.Join(outer, "repository", "shared")} {
		require.NoError(t, os.WriteFile(path, []byte(`backend: "identity"`), 0o600))
	}
	require.NoError(t, os.Symlink("../shared", filepath.Join(dir, "inside")))
	require.NoError(t, os.Symlink("../../secret", filepath.Join(dir, "away")))
	_, err := modelconfig.ReadFile(filepath.Join(dir, "inside"))
	require.NoError(t, err)
	_, err = modelconfig.ReadFile(filepath.Join(dir, "away"))
	require.ErrorContains(t, err, "is outside of the model repository, or a link that leads there")
}
