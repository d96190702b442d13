//go:build cgo && linux

package native

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
)

// Each mistake has an error of its own.
func TestTreesLoadRefuses(t *testing.T) {
	t.Parallel()
	config := &inferencepb.ModelConfig{
		Name: "m", Parameters: map[string]*inferencepb.ModelParameter{"threshold": {StringValue: "much"}},
		Input:  []*inferencepb.ModelInput{{Name: "x", DataType: inferencepb.DataType_TYPE_FP32}},
		Output: []*inferencepb.ModelOutput{{Name: "y", DataType: inferencepb.DataType_TYPE_FP32}},
	}
	spec := backend.Spec{Name: "m", Config: config, Dir: t.TempDir()}
	load := func() error {
		_, err := NewTrees("fil", Search{System: []string{}}).Load(t.Context(), spec)
		return err
	}
	require.EqualError(t, load(), "parameter threshold: 'much' is not a number")
	config.Parameters = nil
	require.EqualError(t, load(), "there is no model file in "+spec.Dir+": looked for xgboost.ubj, xgboost.json, xgboost.model")
	require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "xgboost.json"), nil, 0o600))
	spec.Settings = map[string]string{"python-executable": "/nosuch/python"}
	require.ErrorIs(t, load(), backend.ErrNoLibrary)
	config.Output = nil
	require.ErrorContains(t, load(), "must have one input of TYPE_FP32 and one output")
}
