package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/framework"
	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
)

// frameworkBackends are the backends whose model files pkg/framework reads.
var frameworkBackends = []string{"pytorch", "tensorflow", "openvino"}

// frameworks reads the file of every served version of a TorchScript, SavedModel or OpenVINO model,
// and compares the configuration with each.
func (r *run) frameworks() {
	if !slices.Contains(frameworkBackends, r.config.Backend) || r.ConfigOnly {
		return
	}
	file := modelconfig.ModelFile(r.config.ModelConfig)
	for _, v := range r.served {
		path := filepath.Join(v.path, file)
		if !r.readsFramework(path) {
			continue
		}
		m, err := framework.Read(path)
		if err != nil {
			r.addFile(ruleFrameworkFile, path, err.Error(), exportHint(path))
			continue
		}
		if m.Backend == r.config.Backend {
			r.compareFramework(m)
		}
	}
}

// exportHint returns what to do about a model file that cannot be read.
func exportHint(path string) string {
	if advice := framework.Advice(filepath.Dir(path), filepath.Base(path)); advice != "" {
		return advice
	}
	return "export the model again"
}

// foreign returns what to do about a file of a served version that no backend reads; empty: there is none.
func (r *run) foreign() string {
	for _, v := range r.served {
		if advice := framework.Advice(v.path, ""); advice != "" {
			return advice
		}
	}
	return ""
}

// readsFramework reports whether a model file is there and of a format that is read. Others of the
// same backends, such as frozen graphs and AOT-compiled models, are not.
func (r *run) readsFramework(path string) bool {
	info, err := os.Stat(path)
	if err != nil || isPointer(path) || info.Mode().IsRegular() && info.Size() == 0 {
		return false // reported before
	}
	switch r.config.Backend {
	case "pytorch":
		return !info.IsDir() && r.config.Platform != "torch_aoti"
	case "tensorflow":
		return info.IsDir()
	}
	return filepath.Ext(path) == ".xml"
}

// compareFramework compares the configuration with a model. What the file does not say, such as the
// types in TorchScript, is not compared; and inputs that the configuration leaves out are completed.
func (r *run) compareFramework(m *framework.Model) {
	if r.config.Backend == "pytorch" {
		r.torchNames(m)
		return
	}
	for i, in := range r.config.Input {
		r.compareTensor(fmt.Sprintf("input[%d]", i), "input", in, in.GetReshape(), m.Inputs)
	}
	for i, out := range r.config.Output {
		r.compareTensor(fmt.Sprintf("output[%d]", i), "output", out, out.GetReshape(), m.Outputs)
	}
}

// configured has the fields of an input or output of the configuration.
type configured interface {
	GetName() string
	GetDataType() pb.DataType
	GetDims() []int64
}

func (r *run) compareTensor(path, kind string, t configured, reshape *pb.ModelTensorReshape, all []framework.Tensor) {
	i := slices.IndexFunc(all, func(f framework.Tensor) bool { return f.Name == t.GetName() })
	if i < 0 {
		if t.GetName() != "" {
			r.add(ruleFrameworkName, path+".name", fmt.Sprintf("the model has no %s '%s'", kind, t.GetName()), "it has "+tensorNames(all))
		}
		return
	}
	have := all[i]
	if t.GetDataType() != pb.DataType_TYPE_INVALID && t.GetDataType() != have.Type {
		r.add(ruleFrameworkType, path+".data_type", fmt.Sprintf("%s '%s' of the model is %s, not %s", kind, have.Name, have.Type, t.GetDataType()), "write data_type: "+have.Type.String())
	}
	dims := t.GetDims()
	if reshape != nil {
		dims = reshape.GetShape()
	}
	if len(t.GetDims()) == 0 || have.Unknown {
		return
	}
	if r.config.MaxBatchSize > 0 {
		dims = slices.Insert(slices.Clone(dims), 0, -1)
	}
	if !tensor.Shape(dims).Agrees(have.Dims) {
		r.add(ruleFrameworkDims, path+".dims", fmt.Sprintf("%s '%s' of the model has shape %v, the configuration says %v", kind, have.Name, have.Dims, dims),
			"write the shape of the model, without the batch when max_batch_size is set")
	}
}

func tensorNames(all []framework.Tensor) string {
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// torchNames compares the numbers of tensors. In TorchScript only arguments have names: a
// configuration may use those, or INPUT__0 and OUTPUT__0.
func (r *run) torchNames(m *framework.Model) {
	if n := len(r.config.Input); n > len(m.Inputs) {
		r.add(ruleFrameworkName, fmt.Sprintf("input[%d]", len(m.Inputs)), fmt.Sprintf("the configuration has %d inputs, the model %d", n, len(m.Inputs)), "it has "+tensorNames(m.Inputs))
	}
}
