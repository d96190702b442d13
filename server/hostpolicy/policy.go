// Package hostpolicy binds the threads of instances to processors and to the memory of NUMA
// nodes, as the settings of --host-policy say. It does so on Linux; elsewhere threads stay
// unbound.
package hostpolicy

import (
	"fmt"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// The settings of a policy.
const (
	Cores = "cpu-cores" // "<first>-<last>[,<first>-<last>...]": processors of the threads
	Node  = "numa-node" // the NUMA node of the memory that the threads use first
)

// Policies are the settings of --host-policy by the name of the policy. They are read when an
// instance needs them, as in Triton: a bad value of an unused policy is no error.
type Policies map[string]map[string]string

// With returns the policies with one more setting; the last value of a setting counts.
func (p Policies) With(policy, setting, value string) Policies {
	if p == nil {
		p = Policies{}
	}
	if p[policy] == nil {
		p[policy] = map[string]string{}
	}
	p[policy][setting] = value
	return p
}

// Policy is the policy of one instance.
type Policy struct {
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings,omitempty"`
}

// Of returns the policy of an instance: the one that its group names, else that of its device.
func (p Policies) Of(group *inferencepb.ModelInstanceGroup, kind inferencepb.ModelInstanceGroup_Kind, device int) Policy {
	name := group.GetHostPolicy()
	switch {
	case name != "":
	case kind == inferencepb.ModelInstanceGroup_KIND_GPU:
		name = fmt.Sprintf("gpu_%d", device)
	case kind == inferencepb.ModelInstanceGroup_KIND_MODEL:
		name = "model"
	default:
		name = "cpu"
	}
	return Policy{Name: name, Settings: p[name]}
}

// Binds reports whether the policy has settings, and this system can apply them.
func (p Policy) Binds() bool { return Supported && len(p.Settings) > 0 }

// Processors returns how many processors the policy allows; 0: all, or the setting is wrong.
func (p Policy) Processors() int {
	if !p.Binds() {
		return 0
	}
	all, err := p.cores()
	if err != nil {
		return 0
	}
	return len(all)
}

// maxCores is the number of processors of Linux' plain sets.
const maxCores = 1024

// cores returns the processors; nil without the setting.
func (p Policy) cores() ([]int, error) {
	text, set := p.Settings[Cores]
	if !set {
		return nil, nil
	}
	known := map[int]bool{}
	all := []int{}
	for part := range strings.SplitSeq(text, ",") {
		low, high, ok := strings.Cut(part, "-")
		if !ok {
			return nil, status.New(status.InvalidArg,
				"host policy setting 'cpu-cores' format is '<lower_cpu_core_id>-<upper_cpu_core_id>'. Got %s", part)
		}
		first, err := parse(Cores, low)
		if err != nil {
			return nil, err
		}
		last, err := parse(Cores, high)
		if err != nil {
			return nil, err
		}
		for n := first; n <= min(last, maxCores-1); n++ {
			if !known[n] {
				known[n] = true
				all = append(all, n)
			}
		}
	}
	return all, nil
}

// node returns the NUMA node; false without the setting.
func (p Policy) node() (n int, set bool, err error) {
	text, set := p.Settings[Node]
	if set {
		n, err = parse(Node, text)
	}
	return n, set, err
}

func parse(setting, text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, status.New(status.InvalidArg, "Parsing '%s' value: Can't parse '%s' to integer", setting, text)
	}
	return int(n), nil
}
