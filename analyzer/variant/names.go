package variant

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
)

const (
	infix         = "_config_"
	defaultSuffix = infix + "default"
)

// Names gives numbers to variants. Two variants of a model with the same configuration have the same
// name, also over several runs: checkpoints hold its JSON form, which is that of Model Analyzer.
type Names struct {
	Configs map[string]json.RawMessage `json:"_model_config_dicts"` // by variant
	Last    map[string]int             `json:"_model_name_index"`   // the highest number, by model
}

// NewNames returns names without variants.
func NewNames() *Names {
	return &Names{Configs: map[string]json.RawMessage{}, Last: map[string]int{}}
}

// Variant makes the variant of a model that a patch of its configuration results in. composing are the
// variants of the models that it calls. Configurations without changes have the suffix default,
// others numbers from 0.
func (n *Names) Variant(base *inferencepb.ModelConfig, p trial.Patch, composing []trial.Variant) (trial.Variant, error) {
	config, err := Apply(base, p)
	if err != nil {
		return trial.Variant{}, err
	}
	model := config.GetName()
	v := trial.Variant{Model: model, Patch: p, Config: config, CPUOnly: onlyOnCPU(config)}
	if len(p) == 0 && !slices.ContainsFunc(composing, func(c trial.Variant) bool { return !c.Default() }) {
		v.Name = model + defaultSuffix
		return v, nil
	}
	identity, err := identify(config, composing)
	if err != nil {
		return trial.Variant{}, fmt.Errorf("model %q: %w", model, err)
	}
	for name, known := range n.Configs {
		if string(known) == string(identity) {
			v.Name = name
			return v, nil
		}
	}
	number, numbered := n.Last[model]
	if numbered {
		number++
	}
	n.Last[model] = number
	v.Name = fmt.Sprintf("%s%s%d", model, infix, number)
	n.Configs[v.Name] = identity
	return v, nil
}

// identify returns the canonical JSON text of a configuration, and for models that call others of
// the names of their variants. Models that call several differ if any of those does.
func identify(config *inferencepb.ModelConfig, composing []trial.Variant) (json.RawMessage, error) {
	text, err := protojson.Marshal(config)
	if err != nil {
		return nil, err
	}
	// protojson varies its blanks. Maps of encoding/json are sorted.
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if len(composing) > 0 {
		names := make([]string, len(composing))
		for i, c := range composing {
			names[i] = c.Name
		}
		fields["key"] = strings.Join(names, ",")
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads a checkpoint and brings its configurations to canonical form.
func (n *Names) UnmarshalJSON(text []byte) error {
	type plain Names
	read := plain(*NewNames())
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	for name, config := range read.Configs {
		var fields map[string]any
		if err := json.Unmarshal(config, &fields); err != nil {
			return fmt.Errorf("variant %q: %w", name, err)
		}
		canonical, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		read.Configs[name] = canonical
	}
	*n = Names(read)
	return nil
}

// ModelOf returns the model of a variant's name.
func ModelOf(name string) string {
	if i := strings.LastIndex(name, infix); i >= 0 {
		return name[:i]
	}
	return name
}

// onlyOnCPU reports whether every instance of a configuration is on the CPU.
func onlyOnCPU(config *inferencepb.ModelConfig) bool {
	groups := config.GetInstanceGroup()
	return len(groups) > 0 && !slices.ContainsFunc(groups, func(g *inferencepb.ModelInstanceGroup) bool {
		return g.GetKind() != inferencepb.ModelInstanceGroup_KIND_CPU
	})
}

// Renamed returns a configuration with another name of the model.
func Renamed(config *inferencepb.ModelConfig, name string) *inferencepb.ModelConfig {
	c := proto.Clone(config).(*inferencepb.ModelConfig)
	c.Name = name
	return c
}
