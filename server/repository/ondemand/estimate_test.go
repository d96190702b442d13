package ondemand

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
)

func instanceGroups(kinds ...inferencepb.ModelInstanceGroup_Kind) (all []*inferencepb.ModelInstanceGroup) {
	for _, k := range kinds {
		g := &inferencepb.ModelInstanceGroup{Kind: k, Count: 2}
		if k == inferencepb.ModelInstanceGroup_KIND_GPU {
			g.Gpus = []int32{0, 3}
		}
		all = append(all, g)
	}
	return all
}

func TestPredict(t *testing.T) {
	t.Parallel()
	const files = 10 << 20
	for _, test := range []struct {
		name, backend string
		groups        []*inferencepb.ModelInstanceGroup
		want          Bytes
	}{
		{"instances on the CPU share a session", "onnxruntime", instanceGroups(inferencepb.ModelInstanceGroup_KIND_CPU), Bytes{Host: files + sessionBase}},
		{"those on GPUs do not", "onnxruntime", instanceGroups(inferencepb.ModelInstanceGroup_KIND_GPU), Bytes{"gpu:0": 2 * (files + sessionBase), "gpu:3": 2 * (files + sessionBase)}},
		{"without groups", "onnxruntime", nil, Bytes{Host: files + sessionBase}},
		{"a process for each instance", "python", instanceGroups(inferencepb.ModelInstanceGroup_KIND_CPU), Bytes{Host: 2 * (files + processBase)}},
		{"others", "identity", instanceGroups(inferencepb.ModelInstanceGroup_KIND_CPU), Bytes{Host: files + otherBase}},
	} {
		e, err := NewEstimator("")
		require.NoError(t, err)
		v := Predicted{Key: "m/1", Files: files, Config: &inferencepb.ModelConfig{Backend: test.backend, InstanceGroup: test.groups}}
		require.Equal(t, test.want, e.Estimate(v), test.name)
	}
}

// TestLearn: a version that was measured is estimated by that, others of its backend by the factor; both
// survive a restart with a file.
func TestLearn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "record.json")
	e, err := NewEstimator(file)
	require.NoError(t, err)
	onnx := &inferencepb.ModelConfig{Backend: "onnxruntime"}
	v := Predicted{Key: "m/1", Files: 10 << 20, Config: onnx}
	require.NoError(t, e.Learn(v, nil))
	require.Equal(t, Bytes{Host: 11 << 20}, e.Estimate(v), "nothing was measured")
	require.NoError(t, e.Learn(v, Bytes{Host: 21 << 20, "gpu:0": 5}))
	require.Equal(t, Bytes{Host: 21 << 20, "gpu:0": 5}, e.Estimate(v))
	v.Files = 20 << 20
	require.EqualValues(t, 42<<20, e.Estimate(v)[Host], "its files have become larger")
	other := Predicted{Key: "n/1", Files: 10 << 20, Config: onnx}
	require.InDelta(t, 13<<20, e.Estimate(other)[Host], 1<<10, "a fifth of the way from 1 to 2")

	code := Predicted{Key: "p/1", Files: 400, Config: &inferencepb.ModelConfig{Backend: "python"}}
	require.NoError(t, e.Learn(code, Bytes{Host: 100 << 20}))
	code.Files = 600
	require.EqualValues(t, 100<<20+200, e.Estimate(code)[Host], "its code says little about its memory")

	again, err := NewEstimator(file)
	require.NoError(t, err)
	require.EqualValues(t, 42<<20, again.Estimate(v)[Host])
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	broken, err := NewEstimator(file)
	require.ErrorContains(t, err, "read the measured memory of models: ")
	require.EqualValues(t, 21<<20, broken.Estimate(v)[Host], "it begins anew")
	require.ErrorContains(t, func() error {
		e.file = filepath.Join(file, "x")
		return e.Learn(other, Bytes{Host: 1})
	}(), "write the measured memory of models: ")
}

func TestFolderBytes(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/b/x"), make([]byte, 10), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "y"), make([]byte, 5), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "z"), make([]byte, 100), 0o600))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(dir, filepath.Join(elsewhere, "circle")))
	require.Less(t, int64(114), FolderBytes(dir), "links are followed, and a circle ends")
	require.NoError(t, os.Remove(filepath.Join(elsewhere, "circle")))
	require.EqualValues(t, 115, FolderBytes(dir))
	require.Zero(t, FolderBytes(filepath.Join(dir, "none")))
}

// TestUnnamed: what cannot be told apart from others is not recorded.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "record")
	e, err := NewEstimator(file)
	require.NoError(t, err)
	v := Predicted{Files: 10, Config: &inferencepb.ModelConfig{Backend: "identity"}}
	before := e.Estimate(v)
	require.NoError(t, e.Learn(v, Bytes{Host: 5 << 20}))
	require.Equal(t, before, e.Estimate(v))
	require.NoFileExists(t, file)
}
