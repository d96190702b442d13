package modelconfig

import (
	"slices"
	"strconv"

	pb "triton/pkg/inferencepb"
)

const defaultSequenceIdleMicros = 1000000

// Normalize fills the defaults that Triton fills at load (and again after a backend has
// completed the configuration): version policy, preferred batch sizes, sequence idle
// time and pinned memory.
func (c *Config) Normalize() {
	if c.GetVersionPolicy().GetPolicyChoice() == nil {
		c.VersionPolicy = &pb.ModelVersionPolicy{
			PolicyChoice: &pb.ModelVersionPolicy_Latest_{Latest: &pb.ModelVersionPolicy_Latest{NumVersions: 1}},
		}
	}
	fill := func(preferred *[]int32) {
		if len(*preferred) == 0 && c.MaxBatchSize > 0 {
			*preferred = []int32{c.MaxBatchSize}
		}
	}
	if d := c.GetDynamicBatching(); d != nil {
		fill(&d.PreferredBatchSize)
	}
	if s := c.GetSequenceBatching(); s != nil {
		if s.MaxSequenceIdleMicroseconds == 0 {
			s.MaxSequenceIdleMicroseconds = defaultSequenceIdleMicros
		}
		if s.GetOldest() != nil {
			fill(&s.GetOldest().PreferredBatchSize)
		}
	}
	if c.GetEnsembleScheduling() == nil {
		c.pinMemory()
	}
}

func (c *Config) pinMemory() {
	if c.Optimization == nil {
		c.Optimization = &pb.ModelOptimizationPolicy{}
	}
	for _, p := range []**pb.ModelOptimizationPolicy_PinnedMemoryBuffer{
		&c.Optimization.InputPinnedMemory, &c.Optimization.OutputPinnedMemory,
	} {
		if *p == nil {
			*p = &pb.ModelOptimizationPolicy_PinnedMemoryBuffer{Enable: true}
		}
	}
}

// Machine describes the machine as far as instance groups depend on it.
type Machine struct {
	// GPUs are the indices of the usable GPUs.
	GPUs []int32
	// NoGPUSupport reports that this program cannot use GPUs.
	NoGPUSupport bool
	// MinComputeCapability is printed in messages; 0 means 7.5.
	MinComputeCapability float64
	// Preferred are the groups that the backend prefers if the configuration
	// leaves the choice open.
	Preferred []PreferredGroup
}

// PreferredGroup is an instance group that a backend prefers.
type PreferredGroup struct {
	Kind  pb.ModelInstanceGroup_Kind
	Count int32
	GPUs  []int32
}

// usable returns the GPUs of the list that the machine has.
func (m Machine) usable(gpus []int32) []int32 {
	var list []int32
	for _, id := range gpus {
		if slices.Contains(m.GPUs, id) {
			list = append(list, id)
		}
	}
	return list
}

// NormalizeInstanceGroups adds the default group and fills name, kind, count
// and GPUs of each. Ensembles have none.
func (c *Config) NormalizeInstanceGroups(m Machine) {
	if c.GetEnsembleScheduling() != nil {
		return
	}
	if len(c.InstanceGroup) == 0 {
		c.InstanceGroup = []*pb.ModelInstanceGroup{c.defaultGroup(m)}
	}
	for i, g := range c.InstanceGroup {
		if g.Name == "" {
			g.Name = c.Name + "_" + strconv.Itoa(i)
		}
		c.fillGroup(g, m)
	}
}

// defaultGroup returns the instance group of a configuration without any. As in Triton, its name
// has no index.
func (c *Config) defaultGroup(m Machine) *pb.ModelInstanceGroup {
	g := &pb.ModelInstanceGroup{Name: c.Name}
	for _, p := range m.Preferred {
		switch {
		case p.Kind != pb.ModelInstanceGroup_KIND_GPU:
			g.Kind, g.Count = p.Kind, p.Count
			if p.Kind == pb.ModelInstanceGroup_KIND_AUTO {
				g.Gpus = slices.Clone(p.GPUs)
			}
			return g
		case len(m.GPUs) > 0:
			g.Kind, g.Count, g.Gpus = p.Kind, p.Count, m.usable(p.GPUs)
			return g
		}
	}
	return g
}

func (c *Config) fillGroup(g *pb.ModelInstanceGroup, m Machine) {
	if g.Kind == pb.ModelInstanceGroup_KIND_AUTO {
		g.Kind = pb.ModelInstanceGroup_KIND_GPU
		if len(m.GPUs) == 0 || len(m.usable(g.Gpus)) < len(g.Gpus) {
			g.Kind = pb.ModelInstanceGroup_KIND_CPU
		}
	}
	isGPU := g.Kind == pb.ModelInstanceGroup_KIND_GPU
	for _, p := range m.Preferred {
		if p.Kind != g.Kind {
			continue
		}
		if isGPU && len(g.Gpus) == 0 {
			if g.Gpus = m.usable(p.GPUs); len(g.Gpus) == 0 {
				continue
			}
		}
		if g.Count < 1 && p.Count > 0 {
			g.Count = p.Count
		}
	}
	if g.Count < 1 {
		g.Count = 1
		if g.Kind == pb.ModelInstanceGroup_KIND_CPU && (c.Backend == "tensorflow" || c.Backend == "onnxruntime") {
			g.Count = 2
		}
	}
	if isGPU && len(g.Gpus) == 0 {
		g.Gpus = slices.Clone(m.GPUs)
	}
}
