package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"triton/pkg/fleetstate"
	"triton/pkg/inferencepb"
)

// Action is one change that brings the server to a document.
type Action struct {
	// Do is load, unload or set.
	Do    string `json:"do"`
	Model string `json:"model,omitempty"`
	// What says what differs: model, config, versions, revision, traffic, trace or log.
	What string `json:"what"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Error is why the action failed.
	Error string `json:"error,omitempty"`

	config *string // of a load
	value  json.RawMessage
	name   string // of the setting
}

// key identifies what an action works on.
func (a *Action) key() string { return a.Do + " " + a.What + " " + a.Model + " " + a.name }

// The verbs of actions.
const (
	doLoad   = "load"
	doUnload = "unload"
	doSet    = "set"

	whatConfig   = "config"
	whatVersions = "versions"
)

// plan returns the actions that bring the server to a document: unloads, then loads, then
// settings.
func (c *Controller) plan(ctx context.Context, d *fleetstate.Document) []Action {
	c.learnPins(ctx, d)
	loaded := map[string]Model{}
	var unloads, loads, sets []Action
	for _, m := range c.opts.Models.Loaded() {
		loaded[m.Name] = m
		if _, wanted := d.Models[m.Name]; !wanted && !m.Composing && d.Pruned() {
			unloads = append(unloads, Action{Do: doUnload, Model: m.Name, What: "model", From: "loaded", To: "not in the state"})
		}
	}
	for _, name := range d.Names() {
		now, exists := loaded[name]
		if a := c.planLoad(ctx, name, d.Models[name], now, exists); a != nil {
			loads = append(loads, *a)
		}
		sets = append(sets, c.planModelSettings(ctx, name, d.Models[name])...)
	}
	sets = append(sets, planSettings("", "trace", d.Trace, func() (map[string]json.RawMessage, error) { return c.opts.Settings.Trace("") })...)
	sets = append(sets, planSettings("", "log", d.Log, c.opts.Settings.Log)...)
	return slices.Concat(unloads, loads, sets)
}

// planLoad returns the load that a model needs; nil: none.
func (c *Controller) planLoad(ctx context.Context, name string, want fleetstate.Model, now Model, exists bool) *Action {
	a := &Action{Do: doLoad, Model: name, What: "model", From: "not loaded", To: "loaded"}
	keeps := c.keepsLoaded(name, want)
	if f := c.failures[a.key()]; f != nil && time.Now().Before(f.until) && want.Versions != nil {
		a.Error = f.reason // asks the store only when the load is due
		return a
	}
	var err error
	if a.config, err = c.override(ctx, name, want); err != nil {
		a.Error = err.Error()
		return a
	}
	switch before, known := c.applied[name]; {
	case !keeps && !now.Serves: // a request loads it
		return c.planNext(want, a)
	case !exists || now.Composing && !now.Serves:
		return a
	case !sameConfig(now.Override, a.config):
		a.What, a.From, a.To = whatConfig, text(now.Override), text(a.config)
		if want.Versions != nil {
			a.What = whatVersions
		}
		return a
	case known && before.Revision != want.Revision:
		a.What, a.From, a.To = "revision", before.Revision, want.Revision
		return a
	case !now.Serves:
		a.From = "not ready"
		return a
	}
	return nil
}

// sameConfig reports whether two configurations are equal as JSON.
func sameConfig(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b || sameJSON(json.RawMessage(*a), json.RawMessage(*b))
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func text(config *string) string {
	if config == nil {
		return "the model's own"
	}
	return *config
}

// override returns the configuration that a model of the document is loaded with; nil: its own.
func (c *Controller) override(ctx context.Context, name string, want fleetstate.Model) (*string, error) {
	if want.Config != nil {
		config := string(want.Config)
		return &config, nil
	}
	if want.Versions == nil {
		return nil, nil
	}
	if config := c.resolved[name]; config != nil {
		return config, nil
	}
	config, err := c.opts.Models.ConfigWithVersions(ctx, name, policy(want.Versions))
	if err != nil {
		return nil, err
	}
	c.resolved[name] = &config
	return &config, nil
}

func policy(v *fleetstate.Versions) *inferencepb.ModelVersionPolicy {
	p := &inferencepb.ModelVersionPolicy{}
	switch {
	case v.All:
		p.PolicyChoice = &inferencepb.ModelVersionPolicy_All_{All: &inferencepb.ModelVersionPolicy_All{}}
	case v.Latest > 0:
		p.PolicyChoice = &inferencepb.ModelVersionPolicy_Latest_{Latest: &inferencepb.ModelVersionPolicy_Latest{NumVersions: v.Latest}}
	default:
		p.PolicyChoice = &inferencepb.ModelVersionPolicy_Specific_{Specific: &inferencepb.ModelVersionPolicy_Specific{Versions: v.Specific}}
	}
	return p
}

// planModelSettings returns the changes of the traffic and trace settings of a model.
func (c *Controller) planModelSettings(ctx context.Context, name string, want fleetstate.Model) (sets []Action) {
	if want.Traffic != nil {
		a := Action{Do: doSet, Model: name, What: "traffic", To: string(want.Traffic), value: want.Traffic}
		if c.opts.Traffic == nil {
			a.Error = "this server has no traffic rules"
			sets = append(sets, a)
		} else if now, err := c.opts.Traffic.Traffic(ctx, name); err != nil || !sameJSON(now, want.Traffic) {
			a.From = string(now)
			sets = append(sets, a)
		}
	}
	return append(sets, planSettings(name, "trace", want.Trace, func() (map[string]json.RawMessage, error) { return c.opts.Settings.Trace(name) })...)
}

// planSettings returns a change for each setting whose value differs. Settings that cannot be
// read, such as those of a model that is not loaded yet, are changed.
func planSettings(model, what string, want map[string]json.RawMessage, read func() (map[string]json.RawMessage, error)) (sets []Action) {
	if len(want) == 0 {
		return nil
	}
	now, _ := read()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !sameSetting(now[name], want[name]) {
			sets = append(sets, Action{
				Do: doSet, Model: model, What: what, From: named(name, now[name]), To: named(name, want[name]), name: name, value: want[name],
			})
		}
	}
	return sets
}

// sameSetting reports whether two values are equal. Numbers of trace settings may be texts, and
// lists are sets. A value null leaves a setting as it is.
func sameSetting(now, want json.RawMessage) bool {
	if string(want) == "null" {
		return true
	}
	var x, y []string
	if json.Unmarshal(now, &x) == nil && json.Unmarshal(want, &y) == nil {
		slices.Sort(x)
		slices.Sort(y)
		return slices.Equal(x, y)
	}
	unquoted := func(b json.RawMessage) json.RawMessage { return bytes.Trim(b, `"`) }
	return now != nil && (sameJSON(now, want) || bytes.Equal(unquoted(now), unquoted(want)))
}

func named(name string, value json.RawMessage) string {
	if value == nil {
		return ""
	}
	return fmt.Sprintf("%s=%s", name, value)
}
