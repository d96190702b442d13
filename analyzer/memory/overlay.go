package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// model is the model to analyze, in the user's repository.
type model struct {
	name   string
	dir    string // the model's folder, absolute
	text   []byte // of its configuration; nil without one
	config *modelconfig.Config
}

// findModel finds the model in the repositories. configName is the model-config-name of the servers.
func findModel(name, configName string, repositories []string) (*model, error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("%q is not the name of a model folder", name)
	}
	for _, r := range repositories {
		if _, err := os.ReadDir(r); err != nil {
			return nil, fmt.Errorf("model repository: %w", err)
		}
		dir, err := filepath.Abs(filepath.Join(r, name))
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		text, config, err := readConfig(name, modelconfig.PathIn(dir, configName))
		if err != nil {
			return nil, err
		}
		return &model{name, dir, text, config}, nil
	}
	return nil, fmt.Errorf("model %q is not in %s", name, strings.Join(repositories, ", "))
}

// readConfig reads a configuration and its text. Without one, the configuration has only a name;
// the server completes it.
func readConfig(name, path string) ([]byte, *modelconfig.Config, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, modelconfig.New("", &inferencepb.ModelConfig{Name: name}), nil
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := modelconfig.Parse(path, text)
	if err != nil {
		return nil, nil, err
	}
	if c.GetName() == "" {
		c.Name = name
	}
	if c.GetEnsembleScheduling() != nil {
		return nil, nil, fmt.Errorf("model %q is an ensemble; analyze its composing models", name)
	}
	return text, c, nil
}

// sharedConfig returns the configuration that all variants share: it allows the largest
// batch and has one instance group. changes describes the differences from the user's.
func (s *model) sharedConfig(batches []int) (*inferencepb.ModelConfig, []string, error) {
	config := proto.Clone(s.config.ModelConfig).(*inferencepb.ModelConfig)
	var changes []string
	largest := int32(slices.Max(batches))
	switch allowed := config.GetMaxBatchSize(); {
	case largest <= max(allowed, 1):
	case allowed == 0 && s.config.Has("max_batch_size"):
		return nil, nil, fmt.Errorf("model %q does not batch (max_batch_size is 0), so the only batch size is 1, not %d", s.name, largest)
	default:
		config.MaxBatchSize = largest
		changes = append(changes, fmt.Sprintf("max_batch_size is raised from %d to %d, the largest batch size to measure", allowed, largest))
	}
	if n := len(config.GetInstanceGroup()); n > 1 {
		config.InstanceGroup = config.InstanceGroup[:1]
		changes = append(changes, fmt.Sprintf("the model has %d instance groups; only the first is analyzed and kept", n))
	}
	if len(config.GetInstanceGroup()) == 0 {
		config.InstanceGroup = []*inferencepb.ModelInstanceGroup{{}}
	}
	return config, changes, nil
}

// largestBatch returns the largest batch that an instance can get, from a client
// or from the batcher.
func largestBatch(config *inferencepb.ModelConfig, batches []int) int {
	largest := slices.Max(batches)
	if config.GetDynamicBatching() != nil {
		largest = max(largest, int(config.GetMaxBatchSize()))
	}
	return largest
}

// variantConfig returns the shared configuration with a number of instances, as text.
func variantConfig(shared *inferencepb.ModelConfig, instances int) []byte {
	config := proto.Clone(shared).(*inferencepb.ModelConfig)
	config.InstanceGroup[0].Count = int32(instances)
	return modelconfig.Encode(config)
}

// overlay creates a repository at dir with the subject and another configuration.
// All other files are links to the user's, but for configurations that a server may prefer to this one.
func (s *model) overlay(dir string, config []byte) error {
	model := filepath.Join(dir, s.name)
	if err := os.MkdirAll(model, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == modelconfig.FileName || e.Name() == modelconfig.NamedFolder {
			continue
		}
		if err := os.Symlink(filepath.Join(s.dir, e.Name()), filepath.Join(model, e.Name())); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(model, modelconfig.FileName), config, 0o644)
}
