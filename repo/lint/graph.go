package lint

import (
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
)

// graphs reads the ONNX file of every served version and compares the configuration with each.
// The graph of the highest version completes the configuration.
func (r *run) graphs() {
	if !r.isONNX() || r.isEnsemble() {
		return
	}
	for i, v := range r.served {
		graph := r.readGraph(filepath.Join(v.path, modelconfig.ModelFile(r.config.ModelConfig)))
		if graph == nil {
			continue
		}
		cfg := proto.Clone(r.config.ModelConfig).(*inferencepb.ModelConfig)
		if i == 0 {
			r.graph, cfg = graph, r.config.ModelConfig
		}
		if found := onnxmodel.CheckTensorKinds(cfg, graph); len(found) > 0 { // all else follows from it
			r.addAll(found)
			continue
		}
		if r.options.Strict {
			r.addAll(onnxmodel.CheckConfig(cfg, graph))
			continue
		}
		if _, err := onnxmodel.CompleteConfig(cfg, graph, r.options.DefaultMaxBatch); err != nil {
			r.add(ruleIncomplete, "max_batch_size", err.Error(), "remove max_batch_size, or export the model with a variable first dimension")
			continue
		}
		r.addAll(onnxmodel.CheckConfig(cfg, graph))
	}
}

// readGraph returns the outline of an ONNX file, or nil after reporting a mistake. A
// missing file has been reported before.
func (r *run) readGraph(path string) *onnxmodel.Model {
	info, err := os.Stat(path)
	if err != nil || isPointer(path) {
		return nil // reported before
	}
	if info.IsDir() { // a directory with the model and its weight files
		path = filepath.Join(path, "model.onnx")
	}
	graph, err := onnxmodel.ReadFile(path)
	if err != nil {
		r.addFile(ruleGraphFile, path, err.Error(), exportHint(path))
		return nil
	}
	for _, file := range graph.External {
		if !filepath.IsLocal(file) {
			r.addFile(ruleExternal, path, fmt.Sprintf("weight file %s is outside the version directory", file), "save the weights beside the model")
		} else if _, err := os.Stat(filepath.Join(filepath.Dir(path), file)); err != nil {
			r.lacksWeights(ruleExternal, path, fmt.Sprintf("weight file %s is missing", file), "put it beside the model file")
		}
	}
	return graph
}
