package native

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// modelTensor is an input or an output of a model as its file says. Dims include the dimension
// of the batch.
type modelTensor struct {
	Name     string
	DataType tensor.DataType
	Dims     tensor.Shape
}

// namesTensors reports whether a configuration lists its inputs and outputs, so that there is
// nothing to complete.
func namesTensors(c *inferencepb.ModelConfig) bool {
	return len(c.GetInput()) > 0 && len(c.GetOutput()) > 0
}

// completeConfig adds what a configuration leaves out. A model whose tensors all begin with an
// open dimension can batch.
func completeConfig(spec backend.Spec, inputs, outputs []modelTensor) error {
	c := spec.Config
	if c.GetMaxBatchSize() == 0 && len(c.GetInput()) == 0 && len(c.GetOutput()) == 0 && open(inputs) && open(outputs) {
		n, err := defaultMaxBatch(spec.Settings)
		if err != nil {
			return err
		}
		c.MaxBatchSize = n
		if n > 1 && c.GetSchedulingChoice() == nil {
			c.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{}}
		}
	}
	if len(c.GetInput()) == 0 {
		for _, t := range inputs {
			c.Input = append(c.Input, &inferencepb.ModelInput{Name: t.Name, DataType: inferencepb.DataType(t.DataType), Dims: t.rowDims(c)})
		}
	}
	if len(c.GetOutput()) == 0 {
		for _, t := range outputs {
			c.Output = append(c.Output, &inferencepb.ModelOutput{Name: t.Name, DataType: inferencepb.DataType(t.DataType), Dims: t.rowDims(c)})
		}
	}
	return nil
}

func open(tensors []modelTensor) bool {
	for _, t := range tensors {
		if len(t.Dims) == 0 || t.Dims[0] != -1 {
			return false
		}
	}
	return true
}

// rowDims returns the dims as the configuration lists them.
func (t modelTensor) rowDims(c *inferencepb.ModelConfig) []int64 {
	if c.GetMaxBatchSize() > 0 && len(t.Dims) > 0 {
		return t.Dims[1:]
	}
	return t.Dims
}

func defaultMaxBatch(settings map[string]string) (int32, error) {
	const key = "default-max-batch-size"
	text, ok := settings[key]
	if !ok {
		return 4, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, status.New(status.InvalidArg, "--backend-config %s=%s: use a number from 0", key, text)
	}
	return int32(n), nil
}

// parameter returns the value of a parameter of the model; "" if it is not set.
func parameter(c *inferencepb.ModelConfig, key string) string {
	return strings.TrimSpace(c.GetParameters()[key].GetStringValue())
}

// flagParameter returns a parameter that is a switch.
func flagParameter(c *inferencepb.ModelConfig, key string) bool {
	switch strings.ToLower(parameter(c, key)) {
	case "1", "true", "yes":
		return true
	}
	return false
}

// modelFile returns the path of the model file: the one that the configuration names, else the
// first of these that exists.
func modelFile(spec backend.Spec, names ...string) (string, error) {
	if spec.File != "" {
		names = []string{spec.File}
	}
	for _, name := range names {
		path := filepath.Join(spec.Dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", status.New(status.Unavailable, "there is no model file in %s: looked for %s", spec.Dir, strings.Join(names, ", "))
}
