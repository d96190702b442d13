package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
)

// composingModel reads the configuration of a model of a repository. That of an ONNX model is
// completed.
func composingModel(repository, name string, defaultMaxBatch int) (*inferencepb.ModelConfig, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	dir := filepath.Join(repository, name)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the repository %s has no model %s", repository, name)
	}
	cfg := &inferencepb.ModelConfig{}
	file := filepath.Join(dir, modelconfig.FileName)
	c, err := modelconfig.ReadFile(file)
	switch {
	case err == nil:
		cfg = c.ModelConfig
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	cfg.Name = name
	if onnxmodel.NeedsCompletion(cfg) {
		if err := completeONNX(cfg, dir, defaultMaxBatch); err != nil {
			return nil, err
		}
	}
	if len(cfg.Input) == 0 || len(cfg.Output) == 0 {
		return nil, fmt.Errorf("%s does not say which inputs and outputs the model has: write them", file)
	}
	return cfg, nil
}

// completeONNX completes the configuration of a model whose newest version is an ONNX file.
func completeONNX(cfg *inferencepb.ModelConfig, dir string, defaultMaxBatch int) error {
	versions, err := modelconfig.Versions(os.DirFS(dir))
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	newest := int64(-1)
	folder := ""
	for _, v := range versions {
		if v.Ignored == "" && v.Number > newest {
			newest, folder = v.Number, v.Name
		}
	}
	name := cmp.Or(cfg.GetDefaultModelFilename(), "model.onnx")
	graph, err := onnxmodel.ReadFile(filepath.Join(dir, folder, name))
	if errors.Is(err, fs.ErrNotExist) || folder == "" {
		return nil // another backend's model
	}
	if err != nil {
		return err
	}
	_, err = onnxmodel.CompleteConfig(cfg, graph, defaultMaxBatch)
	return err
}
