package estimate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/repository/evict"
)

func groups(kinds ...inferencepb.ModelInstanceGroup_Kind) (all []*inferencepb.ModelInstanceGroup) {
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
		want          evict.Bytes
	}{
		{"instances on the CPU share a session", "onnxruntime", groups(inferencepb.ModelInstanceGroup_KIND_CPU), evict.Bytes{evict.Host: files + sessionBase}},
		{"those on GPUs do not", "onnxruntime", groups(inferencepb.ModelInstanceGroup_KIND_GPU), evict.Bytes{"gpu:0": 2 * (files + sessionBase), "gpu:3": 2 * (files + sessionBase)}},
		{"without groups", "onnxruntime", nil, evict.Bytes{evict.Host: files + sessionBase}},
		{"a process for each instance", "python", groups(inferencepb.ModelInstanceGroup_KIND_CPU), evict.Bytes{evict.Host: 2 * (files + processBase)}},
		{"others", "identity", groups(inferencepb.ModelInstanceGroup_KIND_CPU), evict.Bytes{evict.Host: files + otherBase}},
	} {
		e, err := New("")
		require.NoError(t, err)
		v := Version{Key: "m/1", Files: files, Config: &inferencepb.ModelConfig{Backend: test.backend, InstanceGroup: test.groups}}
		require.Equal(t, test.want, e.Estimate(v), test.name)
	}
}

// TestLearn: a version that was measured is estimated by that, others of its backend by the factor; both
// survive a restart with a file.
func TestLearn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "record.json")
	e, err := New(file)
	require.NoError(t, err)
	onnx := &inferencepb.ModelConfig{Backend: "onnxruntime"}
	v := Version{Key: "m/1", Files: 10 << 20, Config: onnx}
	require.NoError(t, e.Learn(v, nil))
	require.Equal(t, evict.Bytes{evict.Host: 11 << 20}, e.Estimate(v), "nothing was measured")
	require.NoError(t, e.Learn(v, evict.Bytes{evict.Host: 21 << 20, "gpu:0": 5}))
	require.Equal(t, evict.Bytes{evict.Host: 21 << 20, "gpu:0": 5}, e.Estimate(v))
	v.Files = 20 << 20
	require.EqualValues(t, 42<<20, e.Estimate(v)[evict.Host], "its files have become larger")
	other := Version{Key: "n/1", Files: 10 << 20, Config: onnx}
	require.InDelta(t, 13<<20, e.Estimate(other)[evict.Host], 1<<10, "a fifth of the way from 1 to 2")

	code := Version{Key: "p/1", Files: 400, Config: &inferencepb.ModelConfig{Backend: "python"}}
	require.NoError(t, e.Learn(code, evict.Bytes{evict.Host: 100 << 20}))
	code.Files = 600
	require.EqualValues(t, 100<<20+200, e.Estimate(code)[evict.Host], "its code says little about its memory")

	again, err := New(file)
	require.NoError(t, err)
	require.EqualValues(t, 42<<20, again.Estimate(v)[evict.Host])
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	broken, err := New(file)
	require.ErrorContains(t, err, "read the measured memory of models: ")
	require.EqualValues(t, 21<<20, broken.Estimate(v)[evict.Host], "it begins anew")
	require.ErrorContains(t, func() error {
		e.file = filepath.Join(file, "x")
		return e.Learn(other, evict.Bytes{evict.Host: 1})
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
	e, err := New(file)
	require.NoError(t, err)
	v := Version{Files: 10, Config: &inferencepb.ModelConfig{Backend: "identity"}}
	before := e.Estimate(v)
	require.NoError(t, e.Learn(v, evict.Bytes{evict.Host: 5 << 20}))
	require.Equal(t, before, e.Estimate(v))
	require.NoFileExists(t, file)
}
