package report

import (
	"fmt"
	"strings"

	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
	"triton/pkg/ui"
)

// instanceGroup is the number of a model's instances of one kind.
type instanceGroup struct {
	Kind  string `json:"kind"` // "GPU", "CPU", "AUTO" or "MODEL"
	Count int    `json:"count"`
}

// Instances counts the instances of a variant by kind, in the order of its groups. A group counts
// once for each GPU that it names, and for each GPU of the machine if it names none.
func (o *outcome) Instances(v trial.Variant) []instanceGroup {
	gpus := max(1, len(o.Report.GPUs))
	groups := v.Config.GetInstanceGroup()
	if len(groups) == 0 {
		groups = []*inferencepb.ModelInstanceGroup{{Kind: inferencepb.ModelInstanceGroup_KIND_GPU}}
		if v.CPUOnly || len(o.Report.GPUs) == 0 {
			groups[0].Kind = inferencepb.ModelInstanceGroup_KIND_CPU
		}
	}
	var all []instanceGroup
next:
	for _, g := range groups {
		one := instanceGroup{strings.TrimPrefix(g.GetKind().String(), "KIND_"), max(1, int(g.GetCount()))}
		if one.Kind == "GPU" {
			if named := len(g.GetGpus()); named > 0 {
				one.Count *= named
			} else {
				one.Count *= gpus
			}
		}
		for i := range all {
			if all[i].Kind == one.Kind {
				all[i].Count += one.Count
				continue next
			}
		}
		all = append(all, one)
	}
	return all
}

// InstanceCell returns the instances of a variant as tables show them, such as "2:GPU + 1:CPU".
func (o *outcome) InstanceCell(v trial.Variant) string {
	var all []string
	for _, g := range o.Instances(v) {
		all = append(all, fmt.Sprintf("%d:%s", g.Count, g.Kind))
	}
	return strings.Join(all, " + ")
}

// InstancePhrase returns the instances of a variant in words, such as "2 GPU instances and 1 CPU
// instance".
func (o *outcome) InstancePhrase(v trial.Variant) string {
	var all []string
	for _, g := range o.Instances(v) {
		all = append(all, ui.Plural(g.Count, g.Kind+" instance"))
	}
	return strings.Join(all, " and ")
}

// batchingOf returns "Enabled" or "Disabled": whether the variant has a dynamic batcher.
func batchingOf(v trial.Variant) string {
	if v.Config.GetDynamicBatching() != nil {
		return "Enabled"
	}
	return "Disabled"
}

// platformOf returns the backend of a variant, or its platform if it names none.
func platformOf(v trial.Variant) string {
	if b := v.Config.GetBackend(); b != "" {
		return b
	}
	return v.Config.GetPlatform()
}

// Configs returns the configurations that tables list for a trial: those of the composing models of
// an ensemble, and with bls of BLS models too, else those of the members.
func (m *modelOutcome) Configs(c trial.Config, bls bool) []trial.Variant {
	if len(c.Members) == 1 && len(c.Members[0].Composing) > 0 && (bls || m.ensembleConfig(c)) {
		return c.Members[0].Composing
	}
	all := make([]trial.Variant, len(c.Members))
	for i, member := range c.Members {
		all[i] = member.Variant
	}
	return all
}

func (m *modelOutcome) ensembleConfig(c trial.Config) bool {
	return m.Ensemble() || c.Members[0].Config.GetEnsembleScheduling() != nil
}

// loadOf describes what the clients of a trial did.
func loadOf(c trial.Config) string {
	var all []string
	for _, m := range c.Members {
		all = append(all, loadText(m.Load))
	}
	return strings.Join(all, "; ")
}

func loadText(l trial.Load) string {
	batch := fmt.Sprintf("batch size %d, ", l.Batch)
	switch {
	case l.RequestRate > 0:
		return fmt.Sprintf("%srequest rate %d", batch, l.RequestRate)
	case l.Intervals != "":
		return batch + "request intervals " + l.Intervals
	}
	return fmt.Sprintf("%sconcurrency %d", batch, l.Concurrency)
}
