package modelconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pb "triton/pkg/inferencepb"
	"triton/pkg/status"
)

// ValidateInstanceGroups checks the groups after NormalizeInstanceGroups.
func (c *Config) ValidateInstanceGroups(m Machine) []Finding {
	v := validator{Config: c}
	if c.GetEnsembleScheduling() != nil {
		return nil
	}
	if len(c.InstanceGroup) == 0 {
		v.add(ruleNoGroup, "instance_group", "add one", "must specify one or more 'instance group's for %s", c.Name)
	}
	for i, g := range c.InstanceGroup {
		path := fmt.Sprintf("instance_group[%d]", i)
		group := fmt.Sprintf("instance group %s of model %s", g.Name, c.Name)
		switch g.Kind {
		case pb.ModelInstanceGroup_KIND_GPU:
			v.gpuGroup(path, group, g, m)
		case pb.ModelInstanceGroup_KIND_AUTO:
			v.add(ruleGPU, path, "write KIND_CPU or KIND_GPU", "%s has unexpected kind KIND_AUTO", group)
			v.found[len(v.found)-1].Code = status.Internal
		default:
			if len(g.Gpus) > 0 {
				v.add(ruleGroupGPUs, path+".gpus", "remove gpus or write kind: KIND_GPU",
					"%s has kind %s but specifies one or more GPUs", group, g.Kind)
			}
		}
		v.profiles(path, group, g.Profile)
	}
	return v.found
}

// ValidatePassive checks that some instances take requests. It is this server's check: a model
// without such instances would load and answer nothing.
func (c *Config) ValidatePassive() []Finding {
	v := validator{Config: c}
	takes := func(g *pb.ModelInstanceGroup) bool { return !g.GetPassive() }
	if len(c.InstanceGroup) > 0 && !slices.ContainsFunc(c.InstanceGroup, takes) {
		v.add(rulePassive, "instance_group", "remove passive from one group",
			"model '%s' has passive instances only: none of them takes requests", c.Name)
	}
	return v.found
}

func (v *validator) gpuGroup(path, label string, g *pb.ModelInstanceGroup, m Machine) {
	const onCPU = "write kind: KIND_CPU to run it on the CPU"
	switch {
	case m.NoGPUSupport:
		v.add(ruleGPU, path+".kind", onCPU, "%s has kind KIND_GPU but server does not support GPUs", label)
	case len(g.Gpus) == 0 && len(m.GPUs) == 0:
		v.add(ruleGPU, path+".kind", onCPU, "%s has kind KIND_GPU but no GPUs are available", label)
	case len(g.Gpus) == 0:
		v.add(ruleGPU, path+".gpus", "list them", "%s has kind KIND_GPU but specifies no GPUs", label)
	}
	if m.NoGPUSupport {
		return
	}
	for i, id := range g.Gpus {
		if slices.Contains(m.GPUs, id) {
			continue
		}
		hint := "use one of them"
		if len(m.GPUs) == 0 {
			hint = onCPU
		}
		v.add(ruleGPU, fmt.Sprintf("%s.gpus[%d]", path, i), hint,
			"%s specifies invalid or unsupported gpu id %d. GPUs with at least the minimum required CUDA compute compatibility of %f are: %s",
			label, id, m.minCompute(), joinInts(m.GPUs))
	}
}

func (m Machine) minCompute() float64 {
	if m.MinComputeCapability == 0 {
		return 7.5
	}
	return m.MinComputeCapability
}

func joinInts(list []int32) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(int(n))
	}
	return strings.Join(words, ", ")
}

func (v *validator) profiles(path, label string, profiles []string) {
	if len(profiles) > 0 && v.Platform != tensorrtPlatform {
		v.add(ruleProfile, path+".profile", "remove it",
			"%s and platform %sspecifies profile field which is only supported for TensorRT models", label, v.Platform)
		return
	}
	for i, p := range profiles {
		at := fmt.Sprintf("%s.profile[%d]", path, i)
		const hint = "write the index of a profile"
		n, err := strconv.Atoi(p)
		switch {
		case p == "":
			v.add(ruleProfile, at, hint, "profile name must not be empty")
		case err != nil:
			v.add(ruleProfile, at, hint, "unable to parse '%s': stoi", p)
		case n < 0:
			v.add(ruleProfile, at, hint, "%s and platform %s specifies invalid profile %s. "+
				"The field should contain the string representation of a non-negative integer.", label, v.Platform, p)
		}
	}
}
