package scaffold

import (
	_ "embed"
	"errors"
	"io"
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

// writePython makes the model directory for a model.py. If the file does not exist, the
// model is the skeleton.
func writePython(file string, o Options) (Result, error) {
	res := Result{Name: o.Name}
	dir := filepath.Join(o.Output, o.Name)
	config, model := filepath.Join(dir, modelconfig.FileName), placement{file, filepath.Join(dir, version, "model.py")}
	_, err := os.Stat(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return Result{}, err
	}
	if !o.Force {
		if err := absent(append(targets([]placement{model}), config)...); err != nil {
			return Result{}, err
		}
	}
	if missing {
		err = replace(model.to, func(w io.Writer) error { _, err := w.Write(skeleton); return err })
	} else {
		err = place(model, o.Link)
		res.Notes = append(res.Notes, "the inputs and outputs in "+config+" are examples: write those of "+file+", or remove them if it has auto_complete_config")
	}
	if err != nil {
		return Result{}, err
	}
	text := modelconfig.Encode(pythonConfig(o))
	if err := replace(config, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return Result{}, err
	}
	res.Files = []string{model.to, config}
	return res, nil
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
