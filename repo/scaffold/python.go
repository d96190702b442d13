package scaffold

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// skeleton is the example model.
//
//go:embed skeleton.py
var skeleton []byte

const pythonFile = "model.py"

// readPython describes the model of a model.py. If the file does not exist, the model is the
// skeleton.
func readPython(file string, o Options) (*Model, error) {
	m := &Model{name: o.Name, config: pythonConfig(o)}
	switch _, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		m.source = skeleton
	case err != nil:
		return nil, err
	default:
		m.files = []placement{{file, pythonFile}}
		m.notes = []string{"the inputs and outputs in " + filepath.Join(o.Output, o.Name, modelconfig.FileName) +
			" are examples: write those of " + file + ", or remove them if it has auto_complete_config"}
	}
	return m, nil
}

// pythonConfig returns the configuration of the skeleton.
func pythonConfig(o Options) *inferencepb.ModelConfig {
	batch := o.DefaultMaxBatch
	if o.MaxBatchSize != nil {
		batch = *o.MaxBatchSize
	}
	c := &inferencepb.ModelConfig{
		Name: o.Name, Backend: "python", MaxBatchSize: int32(batch),
		Input:  []*inferencepb.ModelInput{{Name: "IN", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{-1}}},
		Output: []*inferencepb.ModelOutput{{Name: "OUT", DataType: inferencepb.DataType_TYPE_FP32, Dims: []int64{-1}}},
	}
	if batch > 0 {
		c.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{}}
	}
	return c
}
