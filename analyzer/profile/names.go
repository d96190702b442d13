package profile

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
	variantInfix  = "_config_"
	defaultSuffix = variantInfix + "default"
)

// VariantNames gives numbers to variants. Two variants of a model with the same configuration have the same
// name, also over several runs: checkpoints hold its JSON form, which is that of Model Analyzer.
type VariantNames struct {
	Configs map[string]json.RawMessage `json:"_model_config_dicts"` // by variant
	Last    map[string]int             `json:"_model_name_index"`   // the highest number, by model
}

// newVariantNames returns names without variants.
func newVariantNames() *VariantNames {
	return &VariantNames{Configs: map[string]json.RawMessage{}, Last: map[string]int{}}
}

// Variant makes the variant of a model that a patch of its configuration results in. composing are the
// variants of the models that it calls. Configurations without changes have the suffix default,
// others numbers from 0.
func (n *VariantNames) Variant(base *inferencepb.ModelConfig, p trial.Patch, composing []trial.Variant) (trial.Variant, error) {
	config, err := p.Apply(base)
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
	v.Name = fmt.Sprintf("%s%s%d", model, variantInfix, number)
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
func (n *VariantNames) UnmarshalJSON(text []byte) error {
	type plain VariantNames
	read := plain(*newVariantNames())
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
	*n = VariantNames(read)
	return nil
}

// modelOf returns the model of a variant's name.
func modelOf(name string) string {
	if i := strings.LastIndex(name, variantInfix); i >= 0 {
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

// renamed returns a configuration with another name of the model.
func renamed(config *inferencepb.ModelConfig, name string) *inferencepb.ModelConfig {
	c := proto.Clone(config).(*inferencepb.ModelConfig)
	c.Name = name
	return c
}
