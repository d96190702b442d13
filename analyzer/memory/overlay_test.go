package memory

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
)

// TestConfigName: the analysis reads the configuration that the servers read, and they read the one that it writes.
func TestConfigName(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	for name, text := range map[string]string{
		"m/config.pbtxt": `backend: "b" max_batch_size: 2`, "m/configs/large.pbtxt": `backend: "b" max_batch_size: 16`, "m/1/file": "", "bare/1/file": "",
	} {
		path := filepath.Join(repository, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for configName, want := range map[string]int32{"": 2, "large": 16, "none": 2} {
		m, err := findModel("m", configName, []string{repository})
		require.NoError(t, err)
		require.Equal(t, want, m.config.GetMaxBatchSize(), configName)
		dir := t.TempDir()
		require.NoError(t, m.overlay(dir, []byte(`max_batch_size: 5`)))
		c, err := modelconfig.ReadFile(modelconfig.PathIn(filepath.Join(dir, "m"), configName))
		require.NoError(t, err)
		require.EqualValues(t, 5, c.GetMaxBatchSize(), "a server with this name reads the variant")
		require.FileExists(t, filepath.Join(dir, "m", "1", "file"))
	}
	m, err := findModel("bare", "large", []string{repository})
	require.NoError(t, err)
	require.Nil(t, m.text)
}
