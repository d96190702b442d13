package modelconfig

import (
	"fmt"
	"io/fs"
	"strings"

	pb "triton/pkg/inferencepb"
	"triton/pkg/status"
)

// Detect fills missing name, backend, platform and default model file name from the
// configuration and the files in the model's directory. Like Triton it checks only the
// alphabetically first subdirectory.
func (c *Config) Detect(model string, dir fs.FS) error {
	if c.Name == "" {
		c.Name = model
	}
	has, err := versionContents(dir)
	if err != nil {
		return status.New(status.Internal, "failed to read directory of model '%s': %w", model, err)
	}
	for _, family := range families {
		if family(c.ModelConfig, has) {
			return nil
		}
	}
	if c.Backend != "" || c.Platform != "" || c.DefaultModelFilename != "" {
		return nil
	}
	_, suffix, dotted := strings.Cut(c.Name, ".")
	if !dotted {
		return status.New(status.InvalidArg, "Invalid model name: Could not determine backend for model '%s' with no "+
			"backend in model configuration. Expected model name of the form 'model.<backend_name>'.", c.Name)
	}
	c.Backend, c.DefaultModelFilename = suffix, "model."+suffix
	return nil
}

// contents are the entries of a directory: the value reports whether it is a directory.
type contents map[string]bool

func (c contents) any(name string) bool  { _, ok := c[name]; return ok }
func (c contents) file(name string) bool { dir, ok := c[name]; return ok && !dir }
func (c contents) dir(name string) bool  { return c[name] }

// versionContents lists the DetectionFolder.
func versionContents(dir fs.FS) (contents, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	first, ok := DetectionFolder(subdirs(dir, entries))
	if !ok {
		return nil, nil
	}
	if entries, err = fs.ReadDir(dir, first); err != nil {
		return nil, err
	}
	has := make(contents, len(entries))
	for _, e := range entries {
		has[e.Name()] = isDir(dir, e, first+"/"+e.Name())
	}
	return has, nil
}

func isDir(dir fs.FS, e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fs.Stat(dir, path)
	return err == nil && info.IsDir()
}

// families are the detectors of the backends that Triton knows, in its order. Each
// reports whether the model is of its family and then fills the missing fields.
var families = []func(*pb.ModelConfig, contents) bool{tensorflow, tensorrt, onnxruntime, openvino, pytorch, python}

func setEmpty(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// open reports whether the configuration leaves the kind of model to the directory.
func open(c *pb.ModelConfig) bool {
	return c.Backend == "" && c.Platform == "" && c.DefaultModelFilename == ""
}

func tensorflow(c *pb.ModelConfig, has contents) bool {
	const saved, graph = "model.savedmodel", "model.graphdef"
	if c.Platform == "" && (c.Backend == "" || c.Backend == "tensorflow") {
		file := c.DefaultModelFilename
		if file == graph || file == "" && has.file(graph) {
			c.Platform = "tensorflow_graphdef"
		} else if file == saved || file == "" && has.dir(saved) {
			c.Platform = "tensorflow_savedmodel"
		}
	}
	switch c.Platform {
	case "tensorflow_graphdef":
		setEmpty(&c.DefaultModelFilename, graph)
	case "tensorflow_savedmodel":
		setEmpty(&c.DefaultModelFilename, saved)
	default:
		return false
	}
	setEmpty(&c.Backend, "tensorflow")
	return true
}

func tensorrt(c *pb.ModelConfig, has contents) bool {
	const platform, file = "tensorrt_plan", "model.plan"
	switch {
	case c.Backend == "tensorrt":
	case c.Backend == "" && (c.Platform == platform || c.DefaultModelFilename == file):
	case open(c) && has.file(file):
	default:
		return false
	}
	fillFamily(c, "tensorrt", platform, file)
	return true
}

func onnxruntime(c *pb.ModelConfig, has contents) bool {
	const platform, file = "onnxruntime_onnx", "model.onnx"
	switch {
	case c.Backend == "onnxruntime":
	case c.Backend == "" && (c.Platform == platform || c.DefaultModelFilename == file):
	case open(c) && has.any(file):
	default:
		return false
	}
	fillFamily(c, "onnxruntime", platform, file)
	return true
}

func openvino(c *pb.ModelConfig, has contents) bool {
	return plainFamily(c, has, "openvino", "model.xml")
}

func python(c *pb.ModelConfig, has contents) bool {
	return plainFamily(c, has, "python", "model.py")
}

// plainFamily detects backends without a platform name.
func plainFamily(c *pb.ModelConfig, has contents, backend, file string) bool {
	switch {
	case c.Backend == backend:
	case c.Backend == "" && c.DefaultModelFilename == file:
	case open(c) && has.any(file):
	default:
		return false
	}
	fillFamily(c, backend, c.Platform, file)
	return true
}

func fillFamily(c *pb.ModelConfig, backend, platform, file string) {
	c.Backend = backend
	setEmpty(&c.Platform, platform)
	setEmpty(&c.DefaultModelFilename, file)
}

func pytorch(c *pb.ModelConfig, has contents) bool {
	const libtorch, aoti = "pytorch_libtorch", "torch_aoti"
	platform, file := c.Platform, c.DefaultModelFilename
	switch {
	case c.Backend == "pytorch":
	case c.Backend == "" && (platform == libtorch || platform == "libtorch" || platform == aoti):
	case c.Backend == "" && (file == "model.pt" || file == "model.pt2"):
	case open(c) && has.file("model.pt"):
		c.Platform = libtorch
	case open(c) && has.file("model.pt2"):
		c.Platform = aoti
	default:
		return false
	}
	c.Backend = "pytorch"
	switch {
	case c.Platform == "":
		c.Platform = libtorch
		setEmpty(&c.DefaultModelFilename, "model.pt")
	case platform == libtorch && c.Runtime != "model.py": // by the configuration
		setEmpty(&c.DefaultModelFilename, "model.pt")
	case c.Platform == aoti:
		setEmpty(&c.DefaultModelFilename, "model.pt2")
	}
	return true
}

// ModelFile returns the name of the model file or directory in a version directory: the
// configured one, else the backend's default. It is empty for backends that are not
// known to have one.
func ModelFile(c *pb.ModelConfig) string {
	if c.DefaultModelFilename != "" {
		return c.DefaultModelFilename
	}
	switch c.Backend {
	case "onnxruntime":
		return "model.onnx"
	case "tensorrt":
		return "model.plan"
	case "openvino":
		return "model.xml"
	case "python":
		return "model.py"
	case "pytorch":
		if c.Platform == "torch_aoti" {
			return "model.pt2"
		}
		return "model.pt"
	}
	return ""
}

// NeedsModelFile reports whether the backend opens ModelFile, and nothing else in its place.
func NeedsModelFile(c *pb.ModelConfig) bool {
	switch c.Backend {
	case "onnxruntime", "tensorrt", "tensorflow", "openvino", "pytorch", "python":
		return true
	}
	return false
}

// CheckName is Triton's check of a configuration's name against its directory.
func (c *Config) CheckName(dir string) error {
	if c.Name == dir {
		return nil
	}
	return &status.Error{Code: status.InvalidArg, Msg: fmt.Sprintf(
		"unexpected directory name '%s' for model '%s', directory name must equal model name", dir, c.Name)}
}
