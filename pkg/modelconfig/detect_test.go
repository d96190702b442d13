package modelconfig_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// files makes a model's directory of paths; one that ends in a slash is a
// directory.
func files(paths ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for _, p := range paths {
		if d, ok := strings.CutSuffix(p, "/"); ok {
			p = d + "/inner"
		}
		dir[p] = &fstest.MapFile{}
	}
	return dir
}

func TestDetect(t *testing.T) {
	t.Parallel()
	type triple struct{ backend, platform, file string }
	for _, c := range []struct {
		name string
		in   triple
		dir  fstest.MapFS
		want triple
	}{
		{"onnx file", triple{}, files("1/model.onnx"), triple{"onnxruntime", "onnxruntime_onnx", "model.onnx"}},
		{"onnx directory", triple{}, files("1/model.onnx/"), triple{"onnxruntime", "onnxruntime_onnx", "model.onnx"}},
		{"onnx by backend", triple{backend: "onnxruntime"}, files(), triple{"onnxruntime", "onnxruntime_onnx", "model.onnx"}},
		{"onnx by platform", triple{platform: "onnxruntime_onnx"}, files(), triple{"onnxruntime", "onnxruntime_onnx", "model.onnx"}},
		{"wrong platform is kept", triple{"onnxruntime", "onnxruntim", ""}, files(), triple{"onnxruntime", "onnxruntim", "model.onnx"}},
		{"only the first subdirectory counts", triple{}, files("1/x", "2/model.onnx"), triple{"b", "", "model.b"}},
		{"configs shadows a version", triple{}, files("configs/a.pbtxt", "version/model.onnx"), triple{"b", "", "model.b"}},
		{"10 is before 2", triple{}, files("10/model.onnx", "2/model.py"), triple{"onnxruntime", "onnxruntime_onnx", "model.onnx"}},
		{"saved model", triple{}, files("1/model.savedmodel/"), triple{"tensorflow", "tensorflow_savedmodel", "model.savedmodel"}},
		{"graphdef wins", triple{}, files("1/model.savedmodel/", "1/model.graphdef"), triple{"tensorflow", "tensorflow_graphdef", "model.graphdef"}},
		{"saved model must be a directory", triple{}, files("1/model.savedmodel"), triple{"b", "", "model.b"}},
		{"tensorflow platform", triple{platform: "tensorflow_graphdef"}, files(), triple{"tensorflow", "tensorflow_graphdef", "model.graphdef"}},
		{"plan", triple{}, files("1/model.plan"), triple{"tensorrt", "tensorrt_plan", "model.plan"}},
		{"plan by file name", triple{file: "model.plan"}, files(), triple{"tensorrt", "tensorrt_plan", "model.plan"}},
		{"openvino", triple{}, files("1/model.xml", "1/model.bin"), triple{"openvino", "", "model.xml"}},
		{"python", triple{}, files("1/model.py"), triple{"python", "", "model.py"}},
		{"python by backend", triple{backend: "python"}, files(), triple{"python", "", "model.py"}},
		{"libtorch by file has no file name", triple{}, files("1/model.pt"), triple{"pytorch", "pytorch_libtorch", ""}},
		{"libtorch by backend has one", triple{backend: "pytorch"}, files(), triple{"pytorch", "pytorch_libtorch", "model.pt"}},
		{"libtorch by platform has one", triple{platform: "pytorch_libtorch"}, files(), triple{"pytorch", "pytorch_libtorch", "model.pt"}},
		{"torch aoti", triple{}, files("1/model.pt2"), triple{"pytorch", "torch_aoti", "model.pt2"}},
		{"libtorch's other name", triple{platform: "libtorch"}, files(), triple{"pytorch", "libtorch", ""}},
		{"unknown backend", triple{backend: "identity"}, files("1/model.onnx"), triple{"identity", "", ""}},
		{"ensemble", triple{platform: "ensemble"}, files("1/x"), triple{"", "ensemble", ""}},
		{"backend from the name", triple{}, files(), triple{"b", "", "model.b"}},
	} {
		cfg := modelconfig.New("", &pb.ModelConfig{Backend: c.in.backend, Platform: c.in.platform, DefaultModelFilename: c.in.file})
		require.NoError(t, cfg.Detect("a.b", c.dir), c.name)
		require.Equal(t, c.want, triple{cfg.Backend, cfg.Platform, cfg.DefaultModelFilename}, c.name)
		require.Equal(t, "a.b", cfg.Name)
	}
	cfg := modelconfig.New("", &pb.ModelConfig{Name: "given"})
	require.EqualError(t, cfg.Detect("dir", files()), "Invalid model name: Could not determine backend for model 'given' with no "+
		"backend in model configuration. Expected model name of the form 'model.<backend_name>'.")
	require.EqualError(t, cfg.CheckName("dir"), "unexpected directory name 'dir' for model 'given', directory name must equal model name")
	require.NoError(t, cfg.CheckName("given"))
	require.Error(t, modelconfig.New("", &pb.ModelConfig{}).Detect("dir.x", brokenFS{}))
}

type brokenFS struct{ fstest.MapFS }

func (brokenFS) ReadDir(string) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }

func TestModelFile(t *testing.T) {
	t.Parallel()
	for backend, want := range map[string]string{
		"onnxruntime": "model.onnx", "tensorrt": "model.plan", "openvino": "model.xml", "python": "model.py", "pytorch": "model.pt", "x": "",
	} {
		require.Equal(t, want, modelconfig.ModelFile(&pb.ModelConfig{Backend: backend}))
	}
	require.Equal(t, "f", modelconfig.ModelFile(&pb.ModelConfig{Backend: "python", DefaultModelFilename: "f"}))
	require.Equal(t, "model.pt2", modelconfig.ModelFile(&pb.ModelConfig{Backend: "pytorch", Platform: "torch_aoti"}))
}

func TestVersions(t *testing.T) {
	t.Parallel()
	list, err := modelconfig.Versions(files("0/", "1/", "10/", "007/", "1abc/", "1_backup/", "1 (copy)/", "1.5/", "1~/", "+1/", "abc/", "-1/", "-0/", "99999999999999999999/", "warmup/",
		"initial_state/", "configs/", "5"))
	require.NoError(t, err)
	numbers, ignored := map[string]int64{}, map[string]string{}
	for _, v := range list {
		if v.Ignored != "" {
			ignored[v.Name] = v.Ignored
		} else {
			numbers[v.Name] = v.Number
		}
	}
	require.Equal(t, map[string]int64{"0": 0, "1": 1, "10": 10}, numbers)
	want := map[string]string{"007": "ignore version directory '007' which contains leading zeros in its directory name"}
	for _, name := range []string{"1abc", "1_backup", "1 (copy)", "1.5", "1~", "+1", "abc", "-1", "-0", "99999999999999999999"} {
		want[name] = "ignore version directory '" + name + "' which fails to convert to integral number"
	}
	require.Equal(t, want, ignored)
}

// TestDetectionFolder: what lies beside the versions does not choose the backend.
func TestDetectionFolder(t *testing.T) {
	t.Parallel()
	c := &modelconfig.Config{ModelConfig: &pb.ModelConfig{}}
	require.NoError(t, c.Detect("m", files("0_old/model.py", ".ipynb_checkpoints/model.py", "1/model.onnx")))
	require.Equal(t, "onnxruntime", c.Backend)
	name, ok := modelconfig.DetectionFolder([]string{"configs", "docs"})
	require.True(t, ok)
	require.Equal(t, "configs", name)
	_, ok = modelconfig.DetectionFolder(nil)
	require.False(t, ok)
}

func TestSelect(t *testing.T) {
	t.Parallel()
	present := []int64{3, 1, 10, 2}
	for text, want := range map[string][]int64{
		``:                   {10},
		`version_policy { }`: {10},
		`version_policy { latest { num_versions: 2 } }`:         {10, 3},
		`version_policy { latest { num_versions: 9 } }`:         {10, 3, 2, 1},
		`version_policy { latest { } }`:                         {},
		`version_policy { all { } }`:                            {10, 3, 2, 1},
		`version_policy { specific { versions: [ 1, 3, 7 ] } }`: {3, 1},
		`version_policy { specific { } }`:                       {},
	} {
		c, err := modelconfig.Parse("f", []byte(text))
		require.NoError(t, err)
		chosen, missing := modelconfig.Select(c.VersionPolicy, present)
		require.Equal(t, want, append([]int64{}, chosen...), text)
		if strings.Contains(text, "7") {
			require.Equal(t, []int64{7}, missing)
		} else {
			require.Empty(t, missing)
		}
	}
	require.Equal(t, []int64{3, 1, 10, 2}, present, "the argument is not changed")
}
