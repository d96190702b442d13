package model

import (
	"fmt"
	"maps"
	"runtime"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/server/backend"
	"triton/server/hostpolicy"
)

// bind sets the host policies of instances, and among how many of them backends divide threads.
func (b *Builder) bind(all []backend.Placement, c *inferencepb.ModelConfig) {
	warned := map[string]bool{}
	for i := range all {
		p := b.opts.HostPolicies.Of(all[i].Group, all[i].Kind, all[i].Device)
		if why := noEffect(p, all[i].Group); why != "" && !warned[why] {
			warned[why] = true
			b.opts.Log.Warn(fmt.Sprintf("model '%s': %s", c.GetName(), why))
		}
		all[i].HostPolicy = b.withoutOwn(p, c)
	}
	for i := range all {
		if all[i].HostPolicy.Processors() == 0 {
			continue
		}
		all[i].Instances = 0
		for j := range all {
			if all[i].Kind == all[j].Kind && all[i].HostPolicy.Name == all[j].HostPolicy.Name && !all[j].Group.GetPassive() {
				all[i].Instances++
			}
		}
	}
}

// noEffect returns why a policy binds nothing although somebody has asked for it.
func noEffect(p hostpolicy.Policy, group *inferencepb.ModelInstanceGroup) string {
	switch {
	case !hostpolicy.Supported && len(p.Settings) > 0:
		return fmt.Sprintf("host policy '%s' has no effect: on %s threads cannot be bound", p.Name, runtime.GOOS)
	case len(p.Settings) == 0 && group.GetHostPolicy() != "":
		return fmt.Sprintf("host policy '%s' has no effect: no --host-policy=%s,<setting>=<value> is given", p.Name, p.Name)
	}
	return ""
}

// withoutOwn returns the policy of a model whose own process is limited to some processors: these
// count, because the model itself names them.
func (b *Builder) withoutOwn(p hostpolicy.Policy, c *inferencepb.ModelConfig) hostpolicy.Policy {
	config := &modelconfig.Config{ModelConfig: c}
	var own []int
	if e, _ := extension.Read(config); e.Process != nil {
		own = e.Process.CPUs
	}
	if i, _ := extension.ReadIsolation(config); b.isolates(i) {
		own = append(own, i.Limits.CPUs...)
	}
	if len(own) > 0 && p.Settings[hostpolicy.Cores] != "" {
		p.Settings = maps.Clone(p.Settings)
		delete(p.Settings, hostpolicy.Cores)
	}
	return p
}
