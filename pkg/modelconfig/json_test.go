package modelconfig_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// TestMarshalJSON compares with the bodies that NVIDIA's server answered for
// the same files: byte for byte, key order included. (max_inflight_requests, which
// that version of the server did not know yet, is added.)
func TestMarshalJSON(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/json/*.pbtxt")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(strings.TrimSuffix(file, "pbtxt") + "json")
			require.NoError(t, err)
			c, err := modelconfig.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, c.Detect(strings.TrimSuffix(filepath.Base(file), ".pbtxt"), fstest.MapFS{"1/model.py": {}}))
			c.Normalize()
			require.Empty(t, c.Validate())
			require.Empty(t, c.ValidateIO())
			c.NormalizeInstanceGroups(modelconfig.Machine{})
			if c.Platform == "ensemble" { // the server adds what the ensemble's models say
				c.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{}
			}
			got, err := modelconfig.MarshalJSON(c.ModelConfig)
			require.NoError(t, err)
			require.Equal(t, string(bytes.TrimSpace(want)), string(got))
			require.True(t, json.Valid(got))
		})
	}
}
