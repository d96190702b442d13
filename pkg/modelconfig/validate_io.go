package modelconfig

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	pb "triton/pkg/inferencepb"
	"triton/pkg/spelling"
)

const tensorrtPlatform = "tensorrt_plan"

// ioTensor holds the common fields of inputs and outputs.
type ioTensor struct {
	kind    string // "input" or "output"
	path    string
	name    string
	dtype   pb.DataType
	dims    []int64
	reshape *pb.ModelTensorReshape
	shape   bool // is_shape_tensor
	packed  bool // is_non_linear_format_io
}

func (v *validator) inputs() {
	for i, in := range v.Input {
		t := ioTensor{
			"input", fmt.Sprintf("input[%d]", i), in.Name, in.DataType, in.Dims, in.Reshape,
			in.IsShapeTensor, in.IsNonLinearFormatIo,
		}
		v.tensor(t)
		if in.Format != pb.ModelInput_FORMAT_NONE && len(in.Dims) != 3 {
			v.add(ruleFormat, t.path+".format", "remove format or give three dims",
				"model input NHWC/NCHW require 3 dims for %s", v.Name)
		}
		v.tensorrtOnly(t)
	}
}

func (v *validator) outputs() {
	for i, out := range v.Output {
		t := ioTensor{
			"output", fmt.Sprintf("output[%d]", i), out.Name, out.DataType, out.Dims, out.Reshape,
			out.IsShapeTensor, out.IsNonLinearFormatIo,
		}
		v.tensor(t)
		v.tensorrtOnly(t)
	}
}

// addTensor reports a mistake; its text begins with the kind and the name of the tensor.
func (v *validator) addTensor(t ioTensor, rule, field, hint, msg string) {
	label := "model " + t.kind + " "
	if t.name != "" {
		label += "'" + t.name + "' "
	}
	v.add(rule, t.path+field, hint, "%s%s for %s", label, msg, v.Name)
}

func (v *validator) tensor(t ioTensor) {
	if t.name == "" {
		v.addTensor(t, ruleTensorName, "", "write the name that the model has for it", "must specify 'name'")
	}
	if t.dtype == pb.DataType_TYPE_INVALID {
		v.addTensor(t, ruleDataType, ".data_type", "write one, such as data_type: TYPE_FP32", "must specify 'data_type'")
	}
	if len(t.dims) == 0 {
		v.addTensor(t, ruleNoDims, ".dims", "write the shape of one item, such as dims: [ 16 ]", "must specify 'dims'")
		return
	}
	if t.reshape != nil && len(t.reshape.Shape) == 0 && v.MaxBatchSize == 0 {
		v.addTensor(t, ruleReshape, ".reshape", "remove reshape: dims: [ 1 ] also stands for a scalar of the model",
			"cannot have empty reshape for non-batching model as scalar tensors are not supported")
		return
	}
	ok := v.dims(t, ".dims", t.dims, "dimension")
	if t.reshape != nil && v.dims(t, ".reshape.shape", t.reshape.Shape, "reshape dimensions") && ok {
		v.reshape(t)
	}
}

func (v *validator) dims(t ioTensor, field string, dims []int64, what string) bool {
	for i, d := range dims {
		if d < 1 && d != -1 {
			v.addTensor(t, ruleDims, fmt.Sprintf("%s[%d]", field, i), "write -1 if it varies",
				what+" must be integer >= 1, or -1 to indicate a variable-size dimension")
			return false
		}
	}
	return true
}

// reshape compares the element counts of dims and reshape. With dimensions that
// vary, each run of fixed ones between them must keep its product.
func (v *validator) reshape(t ioTensor) {
	field := ".reshape.shape"
	if !v.Has(t.path + field) {
		field = ".reshape"
	}
	dims, ok := v.elements(t, ".dims", "dims", t.dims)
	shape, ok2 := v.elements(t, field, "reshape", t.reshape.Shape)
	if !ok || !ok2 {
		return
	}
	hint := fmt.Sprintf("dims %v and reshape %v must have the same number of elements", t.dims, t.reshape.Shape)
	if dims != shape && (shape != 0 || dims != 1) {
		v.addTensor(t, ruleReshape, field, hint, "has different size for dims and reshape")
		return
	}
	if dims != -1 {
		return
	}
	a, b := segments(t.dims), segments(t.reshape.Shape)
	switch {
	case len(a) != len(b):
		v.addTensor(t, ruleReshape, field, "write as many -1 in reshape as in dims",
			"has different number of variable-size dimensions for dims and reshape")
	case !slices.Equal(a, b):
		v.addTensor(t, ruleReshape, field, hint, "has different size for dims and reshape")
	}
}

// elements returns the element count; -1 if a dimension varies, 0 without dimensions.
// It reports false if it has reported an overflow.
func (v *validator) elements(t ioTensor, field, what string, dims []int64) (int64, bool) {
	if len(dims) == 0 {
		return 0, true
	}
	if slices.Contains(dims, -1) {
		return -1, true
	}
	n := uint64(1)
	for _, d := range dims {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<63-1 {
			v.add(ruleDims, t.path+field, "correct the dimensions",
				"element count for tensor '%s %s' exceeds maximum size of 9223372036854775807 for %s", t.name, what, v.Name)
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// segments returns the products of the runs of fixed dimensions before, between and
// after the dimensions that vary.
func segments(dims []int64) []int64 {
	list := []int64{1}
	for _, d := range dims {
		if d == -1 {
			list = append(list, 1)
		} else {
			list[len(list)-1] *= d
		}
	}
	return list
}

func (v *validator) tensorrtOnly(t ioTensor) {
	if t.shape && v.Platform != tensorrtPlatform {
		v.add(ruleTensorRTOnly, t.path+".is_shape_tensor", "remove it",
			"shape tensors are only supported for TensorRT platform for %s", v.Name)
	}
	if !t.packed {
		return
	}
	if v.Platform != tensorrtPlatform {
		v.add(ruleTensorRTOnly, t.path+".is_non_linear_format_io", "remove it",
			"Non-linear IO format is only supported for the TensorRT platform for %s", v.Name)
	} else if len(t.dims) != 3 {
		v.add(ruleTensorRTOnly, t.path+".dims", "give three dims",
			"Non-linear IO format %s requires 3 dims for %s", t.kind, v.Name)
	}
}

func (v *validator) batchTensors() {
	for i, b := range v.BatchInput {
		path := fmt.Sprintf("batch_input[%d]", i)
		switch {
		case pb.BatchInput_Kind_name[int32(b.Kind)] == "":
			v.add(ruleBatchInput, path+".kind", "", "unknown batch input kind '' for %s", v.Name)
		case len(b.SourceInput) != 1:
			v.add(ruleBatchInput, path+".source_input", "name one input",
				"batch input kind '%s' expects 1 source input, got %d for %s", b.Kind, len(b.SourceInput), v.Name)
		}
		if b.DataType != pb.DataType_TYPE_INT32 && b.DataType != pb.DataType_TYPE_FP32 {
			v.add(ruleBatchInput, path+".data_type", "", "batch input data type must be TYPE_INT32 or TYPE_FP32 for %s", v.Name)
		}
		v.sources(ruleBatchInput, path, b.SourceInput)
	}
	for i, b := range v.BatchOutput {
		path := fmt.Sprintf("batch_output[%d]", i)
		switch {
		case pb.BatchOutput_Kind_name[int32(b.Kind)] == "":
			v.add(ruleBatchOutput, path+".kind", "", "unknown batch output kind '' for %s", v.Name)
		case len(b.SourceInput) != 1:
			v.add(ruleBatchOutput, path+".source_input", "name one input",
				"batch output kind '%s' expects 1 source input, got %d for %s", b.Kind, len(b.SourceInput), v.Name)
		}
		v.sources(ruleBatchOutput, path, b.SourceInput)
		v.targets(path, b.TargetName)
	}
}

func (v *validator) inputNames() (names []string) {
	for _, in := range v.Input {
		names = append(names, in.Name)
	}
	return names
}

func (v *validator) outputNames() (names []string) {
	for _, out := range v.Output {
		names = append(names, out.Name)
	}
	return names
}

func (v *validator) sources(rule, path string, names []string) {
	known := v.inputNames()
	for i, name := range names {
		if !slices.Contains(known, name) {
			v.add(rule, fmt.Sprintf("%s.source_input[%d]", path, i), spelling.Hint(name, known, "name one of the inputs: "+strings.Join(known, ", ")),
				"unknown source input name '%s' for %s", name, v.Name)
		}
	}
}

func (v *validator) targets(path string, names []string) {
	known := v.outputNames()
	for i, name := range names {
		at := fmt.Sprintf("%s.target_name[%d]", path, i)
		if !slices.Contains(known, name) {
			v.add(ruleBatchOutput, at, spelling.Hint(name, known, "name one of the outputs: "+strings.Join(known, ", ")), "unknown target output name '%s' for %s", name, v.Name)
		}
		if slices.Contains(names[:i], name) {
			v.add(ruleBatchOutput, at, "remove it", "target output name '%s' can only be specified once for %s", name, v.Name)
		}
	}
}
