// Package render completes a configuration as a server does at load, and tells for every field that
// was added why. It needs no backend: a Python model may add to its configuration when it loads,
// which is not seen here.
package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/pkg/tensor"
	"triton/repo"
)

// Options describe the server.
type Options struct {
	// DefaultMaxBatch is the server's default-max-batch-size.
	DefaultMaxBatch int
	// GPUs is the number of GPUs of its machine.
	GPUs int
}

// Addition is a field that the server adds or changes.
type Addition struct {
	Path   string `json:"path"` // as in modelconfig.Config.Position
	Reason string `json:"reason"`
}

// Result is a completed configuration.
type Result struct {
	Model  string
	File   string // of the configuration, whether it exists or not
	Source []byte // as written
	Config *pb.ModelConfig
	Added  []Addition
	// Notes say what could not be completed.
	Notes []string
}

// Complete completes the configuration of a model.
func Complete(m *repo.Model, o Options) (*Result, error) {
	src, err := m.ReadConfig()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	written, err := modelconfig.Parse(m.ConfigFile, src)
	if err != nil {
		return nil, err
	}
	c := completion{
		model: m, options: o, config: modelconfig.New(m.ConfigFile, proto.CloneOf(written.ModelConfig)),
		result: &Result{Model: m.Name, File: m.ConfigFile, Source: src},
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("%s: %w", m.ConfigFile, err)
	}
	c.result.Config = c.config.ModelConfig
	return c.result, nil
}

// completion completes one configuration step by step, as a server does.
type completion struct {
	model   *repo.Model
	options Options
	config  *modelconfig.Config
	result  *Result
}

// step runs a part of the completion. What it adds has the reason.
func (c *completion) step(reason func(path string) string, run func() error) error {
	before := proto.CloneOf(c.config.ModelConfig)
	if err := run(); err != nil {
		return err
	}
	for _, path := range differences(before, c.config.ModelConfig) {
		c.add(path, reason(path))
	}
	return nil
}

// add records an addition. A field that another step changed too has the reason of the last one,
// and one inside an added field the reason of that field.
func (c *completion) add(path, reason string) {
	for i, a := range c.result.Added {
		if a.Path == path {
			c.result.Added[i].Reason = reason
			return
		}
		if strings.HasPrefix(path, a.Path+".") || strings.HasPrefix(path, a.Path+"[") {
			return
		}
	}
	c.result.Added = append(c.result.Added, Addition{path, reason})
}

func because(text string) func(string) string { return func(string) string { return text } }

func (c *completion) run() error {
	if err := c.step(c.detected, c.detect); err != nil {
		return err
	}
	const servers = "the server's default"
	if err := c.step(because(servers), func() error { c.config.Normalize(); return nil }); err != nil {
		return err
	}
	if err := c.step(because(c.machine()), c.groups); err != nil {
		return err
	}
	if err := c.step(c.fromGraph, c.graph); err != nil {
		return err
	}
	if err := c.step(because("an ensemble is decoupled if one of its models is"), c.transactions); err != nil {
		return err
	}
	return c.step(because(servers), func() error { c.config.Normalize(); return nil })
}

func (c *completion) detect() error {
	if c.model.ConfigOnly {
		if c.config.Name == "" {
			c.result.Notes = append(c.result.Notes, "the model's files are not at hand: the backend is not detected")
		}
		return nil
	}
	return c.config.Detect(c.model.Name, c.model.FS())
}

func (c *completion) detected(path string) string {
	if path == "name" {
		return "the name of the directory"
	}
	if file := c.config.DefaultModelFilename; file != "" && path == "backend" {
		return "the model file is " + file
	}
	return "follows from the backend"
}

func (c *completion) machine() string {
	switch c.options.GPUs {
	case 0:
		return "the default for a machine without GPUs"
	case 1:
		return "the default for a machine with one GPU"
	}
	return fmt.Sprintf("the default for a machine with %d GPUs", c.options.GPUs)
}

// groups completes the instance groups for a backend that can use GPUs if the machine has any.
func (c *completion) groups() error {
	machine := modelconfig.Machine{}
	for i := range c.options.GPUs {
		machine.GPUs = append(machine.GPUs, int32(i))
	}
	c.config.NormalizeInstanceGroups(machine)
	return nil
}

// graph completes the configuration from the ONNX file of the highest version that is served.
func (c *completion) graph() error {
	switch {
	case c.config.Backend == "python":
		if onnxmodel.NeedsCompletion(c.config.ModelConfig) {
			c.result.Notes = append(c.result.Notes, "inputs and outputs come from auto_complete_config of model.py when it loads")
		}
		return nil
	case c.config.Backend != "onnxruntime" || c.config.Platform == "ensemble" || !onnxmodel.NeedsCompletion(c.config.ModelConfig):
		return nil
	}
	path, ok := c.modelFile()
	if !ok {
		c.result.Notes = append(c.result.Notes, "the model file is not there: inputs and outputs are not completed")
		return nil
	}
	graph, err := onnxmodel.ReadFile(path)
	if err != nil {
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("inputs and outputs are not completed: %v", err))
		return nil
	}
	graph.Inputs, graph.Outputs = reported(graph.Inputs), reported(graph.Outputs)
	_, err = onnxmodel.CompleteConfig(c.config.ModelConfig, graph, c.options.DefaultMaxBatch)
	return err
}

// reported returns the tensors of a graph in the order in which a server lists them.
func reported(values []onnxmodel.Value) []onnxmodel.Value {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.Name
	}
	list := make([]onnxmodel.Value, 0, len(values))
	for _, i := range tensor.HashOrder(names) {
		list = append(list, values[i])
	}
	return list
}

// modelFile returns the path of the ONNX file that completes the configuration.
func (c *completion) modelFile() (string, bool) {
	var present []int64
	names := map[int64]string{}
	for _, v := range c.model.Versions {
		if v.Ignored == "" {
			present = append(present, v.Number)
			names[v.Number] = v.Name
		}
	}
	chosen, _ := modelconfig.Select(c.config.GetVersionPolicy(), present)
	if len(chosen) == 0 {
		return "", false
	}
	path := c.model.Path(names[chosen[0]], modelconfig.ModelFile(c.config.ModelConfig))
	info, err := os.Stat(path)
	if err == nil && info.IsDir() { // a directory with the model and its weight files
		path = filepath.Join(path, "model.onnx")
		_, err = os.Stat(path)
	}
	return path, err == nil
}

func (c *completion) fromGraph(path string) string {
	if path == "max_batch_size" {
		return "the graph can batch: the server's default-max-batch-size"
	}
	if path == "dynamic_batching" {
		return "the graph can batch"
	}
	return "from " + modelconfig.ModelFile(c.config.ModelConfig)
}
