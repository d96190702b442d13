package modelconfig

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// warmupFolder is the folder of a model's directory with the data files of warm-up samples.
const warmupFolder = "warmup"

// unknownRequest begins the messages about requests without an ID.
const unknownRequest = "[request id: <id_unknown>] "

// ValidateWarmup checks the samples of a model_warmup. Samples with batch size 0 are not run. The
// configuration is completed.
func ValidateWarmup(c *Config, dir string) []Finding {
	k := fileValidator{validator{Config: c}, dir}
	for i, w := range c.GetModelWarmup() {
		if w.GetBatchSize() > 0 {
			k.sample(fmt.Sprintf("model_warmup[%d]", i), w)
		}
	}
	return k.found
}

// ValidateWarmupBatches checks that the batches of the samples are not too large. A load finds it out when its
// first instance runs the samples.
func ValidateWarmupBatches(c *Config) []Finding {
	k := validator{Config: c}
	for i, w := range k.GetModelWarmup() {
		if n := w.GetBatchSize(); n > 1 && int64(n) > int64(k.GetMaxBatchSize()) {
			k.add(ruleWarmup, fmt.Sprintf("model_warmup[%d].batch_size", i), "lower it, or raise max_batch_size",
				"failed to run warmup sample '%s': batch size %d for '%s', max allowed is %d; ", w.GetName(), n, k.GetName(), k.GetMaxBatchSize())
		}
	}
	return k.found
}

// OpenWarmup opens a data file of a sample, and returns its size.
func OpenWarmup(dir, name string) (*os.File, int64, error) {
	f, size, err := openIn(dir, warmupFolder, name)
	if err != nil {
		err = status.New(status.Internal, "failed to open text file for read %s: %s", filepath.Join(dir, warmupFolder)+"/"+name, status.Strerror(err))
	}
	return f, size, err
}

// sample checks the inputs of a sample, each alone and then as a request.
func (k *fileValidator) sample(path string, w *inferencepb.ModelWarmup) {
	before := len(k.found)
	for _, name := range slices.Sorted(maps.Keys(w.GetInputs())) {
		k.data(inputPath(path, name), name, w.GetInputs()[name])
	}
	if len(k.found) == before {
		k.request(path, w)
	}
}

func inputPath(sample, name string) string { return fmt.Sprintf("%s.inputs[%q]", sample, name) }

// shape returns the shape of one row of an input.
func (k *fileValidator) shape(in *inferencepb.ModelWarmup_Input) tensor.Shape {
	var shape tensor.Shape
	if k.GetMaxBatchSize() > 0 {
		shape = append(shape, 1)
	}
	return append(shape, in.GetDims()...)
}

func (k *fileValidator) data(path, name string, in *inferencepb.ModelWarmup_Input) {
	if slices.ContainsFunc(in.GetDims(), func(d int64) bool { return d < 0 }) {
		k.add(ruleWarmup, path+".dims", "write a size for each dimension",
			"warmup setting expects all variable-size dimensions are specified for input '%s'", name)
		return
	}
	d := tensor.DataType(in.GetDataType())
	size, err := tensorBytes(k.shape(in), d)
	if err != nil {
		k.add(ruleWarmup, path+".dims", "correct the dimensions", "warmup setting for input '%s': shape %v: %s", name, k.shape(in), err)
		return
	}
	switch from := in.GetInputDataType().(type) {
	case nil:
		k.add(ruleWarmup, path, "write zero_data: true", "%swarmup setting expects input '%s' to have input_data_type set", unknownRequest, name)
	case *inferencepb.ModelWarmup_Input_InputDataFile:
		k.file(path+".input_data_file", from.InputDataFile, d, size)
	}
}

// tensorBytes returns the size of a tensor; strings count as empty.
func tensorBytes(shape tensor.Shape, d tensor.DataType) (int64, error) {
	if d == tensor.Bytes {
		d = tensor.Uint32 // the length of an empty string
	}
	return shape.ByteSize(d)
}

func (k *fileValidator) file(path, name string, d tensor.DataType, size int64) {
	f, length, err := OpenWarmup(k.dir, name)
	if err != nil {
		e := status.From(err)
		k.addCode(ruleWarmup, e.Code, path, k.fileHint(warmupFolder, name, "put the file into the folder warmup beside config.pbtxt"), "%s", e.Msg)
		return
	}
	defer f.Close() // nothing was written
	if d != tensor.Bytes && length < size {
		k.add(ruleWarmup, path, fmt.Sprintf("write at least %d bytes: the little-endian elements of the tensor", size),
			"%swarmup setting expects %d bytes, but the data provided from %sonly has %d bytes", unknownRequest, size, name, length)
	}
}

// request checks a sample as a request of a client. Inputs that the model does not have are sent
// with it, to set controls and states; so they count for nothing.
func (k *fileValidator) request(path string, w *inferencepb.ModelWarmup) {
	var missing, got []string
	for _, in := range k.GetInput() {
		if w.GetInputs()[in.GetName()] != nil {
			got = append(got, in.GetName())
		} else if !in.GetOptional() {
			missing = append(missing, in.GetName())
		}
	}
	if len(missing) > 0 {
		k.add(ruleWarmup, path+".inputs", missingHint(UnknownWarmupInputs(k.Config, w), missing), "%sexpected %d inputs but got %d inputs for model '%s'. Got input(s) [%s], but missing required input(s) [%s]. "+
			"Please provide all required input(s).", unknownRequest, len(k.GetInput()), len(got), k.GetName(), quoted(got), quoted(missing))
		return
	}
	for _, want := range k.GetInput() {
		if in := w.GetInputs()[want.GetName()]; in != nil {
			k.value(inputPath(path, want.GetName()), want, in)
		}
	}
}

// missingHint names the inputs of a sample that are probably meant to be the missing ones.
func missingHint(strangers, missing []string) string {
	switch {
	case len(strangers) == 1 && len(missing) == 1:
		return fmt.Sprintf("the sample has '%s' instead, which is no input of the model: did you mean %q?", strangers[0], missing[0])
	case len(strangers) > 0:
		return fmt.Sprintf("the sample has %s instead, which the model does not have", quoted(strangers))
	}
	return "add the missing inputs"
}

// UnknownWarmupInputs returns the inputs of a sample that are neither an input of the model nor one that a
// scheduler adds to requests, by name.
func UnknownWarmupInputs(c *Config, w *inferencepb.ModelWarmup) (names []string) {
	known := RequestInputs(c)
	for _, name := range slices.Sorted(maps.Keys(w.GetInputs())) {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	return names
}

// RequestInputs returns the names of all inputs with which a model can be called: its own, and the
// controls, states and batch inputs that a scheduler adds.
func RequestInputs(c *Config) (names []string) {
	for _, in := range c.GetInput() {
		names = append(names, in.GetName())
	}
	for _, in := range c.GetSequenceBatching().GetControlInput() {
		names = append(names, in.GetName())
	}
	for _, s := range c.GetSequenceBatching().GetState() {
		names = append(names, s.GetInputName())
	}
	for _, b := range c.GetBatchInput() {
		names = append(names, b.GetTargetName()...)
	}
	return names
}

func quoted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "'" + strings.Join(names, "','") + "'"
}

func (k *fileValidator) value(path string, want *inferencepb.ModelInput, in *inferencepb.ModelWarmup_Input) {
	if in.GetDataType() != want.GetDataType() {
		k.add(ruleWarmup, path+".data_type", "write data_type: "+want.GetDataType().String(), "%sinference input '%s' data-type is '%s', but model '%s' expects '%s'",
			unknownRequest, want.GetName(), tensor.DataType(in.GetDataType()), k.GetName(), tensor.DataType(want.GetDataType()))
		return
	}
	if shape := tensor.Shape(in.GetDims()); !shape.Matches(want.GetDims()) {
		expected := tensor.Shape(want.GetDims())
		if k.GetMaxBatchSize() > 0 {
			expected = append(tensor.Shape{-1}, expected...)
		}
		k.add(ruleWarmup, path+".dims", "write the dims of the input, without the batch", "%sunexpected shape for input '%s' for model '%s'. Expected %s, got %s. ",
			unknownRequest, want.GetName(), k.GetName(), expected, k.shape(in))
		return
	}
	if from, ok := in.GetInputDataType().(*inferencepb.ModelWarmup_Input_InputDataFile); ok && tensor.DataType(in.GetDataType()) == tensor.Bytes {
		k.strings(path+".input_data_file", want.GetName(), from.InputDataFile, k.shape(in))
	}
}

// strings checks the number of strings in a data file.
func (k *fileValidator) strings(path, name, file string, shape tensor.Shape) {
	want, err := shape.Elements()
	if err != nil {
		return // reported before
	}
	f, _, err := OpenWarmup(k.dir, file)
	if err != nil {
		return // reported before
	}
	defer f.Close() // nothing was written
	raw, err := io.ReadAll(f)
	if err == nil {
		var n int
		if n, err = tensor.CountElements(raw); err == nil && int64(n) != want {
			err = fmt.Errorf("expected %d strings, got %d", want, n)
		}
	}
	if err != nil {
		k.add(ruleWarmup, path, "write each string with its length before it, in 4 bytes", "%sinput '%s' for model '%s': warm-up data file %s: %s",
			unknownRequest, name, k.GetName(), file, err)
	}
}
