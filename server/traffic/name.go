package traffic

import (
	"sync"
	"sync/atomic"

	"triton/pkg/trafficrules"
)

// name is a model or an alias with rules, or that has had some and still has
// open sequences.
type name struct {
	name      string
	decisions decisions
	sequences sequences

	// Guarded by Service.mu.
	file, live *trafficrules.Rules
	fileText   string // the parameter
	generation uint64
	canary     *canary
	shadow     *shadow
	rollbacks  uint64
}

// rules returns the rules that apply; nil: none.
func (n *name) rules() *trafficrules.Rules {
	if n.live != nil {
		return n.live
	}
	return n.file
}

// decisions counts the decisions of a name. Counters are found without a lock or an allocation.
type decisions struct {
	cells atomic.Pointer[[]*decision]
	mu    sync.Mutex // held while a cell is added
}

// decision counts the requests that a rule has sent to a version.
type decision struct {
	model, version, rule string
	count                atomic.Uint64
}

// maxDecisions bounds the number of counters of a name; what is beyond is counted together.
const maxDecisions = 1024

func (d *decisions) all() []*decision {
	if p := d.cells.Load(); p != nil {
		return *p
	}
	return nil
}

func (d *decisions) find(model, version, rule string) *decision {
	for _, c := range d.all() {
		if c.version == version && c.rule == rule && c.model == model {
			return c
		}
	}
	return nil
}

// add counts a decision.
func (d *decisions) add(model, version, rule string) {
	c := d.find(model, version, rule)
	if c == nil {
		c = d.insert(model, version, rule)
	}
	c.count.Add(1)
}

func (d *decisions) insert(model, version, rule string) *decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all()
	if len(all) >= maxDecisions {
		model, version, rule = "", "", "other"
	}
	if c := d.find(model, version, rule); c != nil {
		return c
	}
	c := &decision{model: model, version: version, rule: rule}
	next := append(all[:len(all):len(all)], c)
	d.cells.Store(&next)
	return c
}
