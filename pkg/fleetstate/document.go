// Package fleetstate reads and writes the fleet state, the desired state of servers: the models to serve with
// their versions, configurations and traffic rules, and the settings of log and traces. It
// decides nothing and applies nothing.
package fleetstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxSize bounds a document in bytes.
const MaxSize = 32 << 20

// Document is a fleet state.
type Document struct {
	// Generation grows with every change that a server writes.
	Generation int64 `json:"generation,omitempty"`
	// Prune says whether models that the document does not have are unloaded; nil: they are.
	Prune  *bool            `json:"prune,omitempty"`
	Models map[string]Model `json:"models"`
	// Required are the models that a server needs to be ready, each "name" or "name:version";
	// none: the server's own rule counts.
	Required []string `json:"required,omitempty"`
	// Log are log settings and Trace trace settings, by their names in the HTTP API.
	Log   map[string]json.RawMessage `json:"log,omitempty"`
	Trace map[string]json.RawMessage `json:"trace,omitempty"`
}

// Model is the desired state of a model.
type Model struct {
	// Versions replace the version policy of the model's configuration.
	Versions *Versions `json:"versions,omitempty"`
	// Config replaces the model's configuration, as the parameter config of a load does.
	Config json.RawMessage `json:"config,omitempty"`
	// Revision is any text. A change loads the model again, so that changed files are read.
	Revision string `json:"revision,omitempty"`
	// Pin says, of a server that loads models when requests need them, whether the model is loaded
	// and stays so; nil: as the server and the model's configuration say.
	Pin *bool `json:"pin,omitempty"`
	// Traffic are the rules for the traffic of the model, a document of their own.
	Traffic json.RawMessage `json:"traffic,omitempty"`
	// Trace are the trace settings of the model.
	Trace map[string]json.RawMessage `json:"trace,omitempty"`
}

// Pruned reports whether models that the document does not have are unloaded.
func (d *Document) Pruned() bool { return d.Prune == nil || *d.Prune }

// Names returns the names of the models in order.
func (d *Document) Names() []string { return slices.Sorted(maps.Keys(d.Models)) }

// Versions is a version policy: a list of versions, the newest ones, or all.
type Versions struct {
	Specific []int64
	Latest   uint32 // how many; 0: not the newest
	All      bool
}

const latestPrefix = "latest:"

// UnmarshalJSON reads [1, 2], "latest:2" or "all".
func (v *Versions) UnmarshalJSON(text []byte) error {
	var list []int64
	if json.Unmarshal(text, &list) == nil && len(list) > 0 {
		slices.Sort(list)
		if list[0] < 1 {
			return fmt.Errorf("version %d: versions are positive numbers", list[0])
		}
		*v = Versions{Specific: slices.Compact(list)}
		return nil
	}
	var word string
	if json.Unmarshal(text, &word) == nil {
		n, isLatest := strings.CutPrefix(word, latestPrefix)
		count, err := strconv.ParseUint(n, 10, 32)
		switch {
		case word == "all":
			*v = Versions{All: true}
			return nil
		case isLatest && err == nil && count > 0:
			*v = Versions{Latest: uint32(count)}
			return nil
		}
	}
	return fmt.Errorf(`versions %s: use a list such as [1, 2], "latest:2" or "all"`, text)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (v Versions) MarshalJSON() ([]byte, error) {
	switch {
	case v.All:
		return json.Marshal("all")
	case v.Latest > 0:
		return json.Marshal(latestPrefix + strconv.FormatUint(uint64(v.Latest), 10))
	}
	return json.Marshal(v.Specific)
}

var errNoModels = errors.New(`the state has no "models": use {"models": {}} for a server without models`)

// Parse reads a document in JSON or YAML. The warnings name fields that are not known.
func Parse(data []byte) (d *Document, warnings []string, err error) {
	if len(data) > MaxSize {
		return nil, nil, fmt.Errorf("the state has %d bytes, more than %d", len(data), MaxSize)
	}
	text, err := toJSON(data)
	if err != nil {
		return nil, nil, err
	}
	d = &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, nil, fmt.Errorf("the state cannot be read: %w", err)
	}
	// A document without models would unload everything: it has to say so.
	if d.Models == nil {
		return nil, nil, errNoModels
	}
	if err := d.check(); err != nil {
		return nil, nil, err
	}
	return d, unknown(text), nil
}

func (d *Document) check() error {
	if slices.Contains(d.Required, "") {
		return errors.New("the state requires a model without a name")
	}
	for _, name := range d.Names() {
		m := d.Models[name]
		if name == "" {
			return errors.New("the state has a model without a name")
		}
		if isNull(m.Config) {
			m.Config = nil
		}
		if isNull(m.Traffic) {
			m.Traffic = nil
		}
		if m.Config != nil {
			config, err := compact(m.Config)
			if err != nil || config[0] != '{' {
				return fmt.Errorf("model '%s': config is no object", name)
			}
			m.Config = config
		}
		if m.Config != nil && m.Versions != nil {
			return fmt.Errorf("model '%s': versions and config exclude each other: write version_policy into config", name)
		}
		d.Models[name] = m
	}
	return nil
}

func isNull(text json.RawMessage) bool { return string(text) == "null" }

func compact(text json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// toJSON converts YAML to JSON. A document that begins with a brace is JSON already.
func toJSON(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("the state is empty")
	case trimmed[0] == '{':
		return data, nil
	}
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("the state cannot be read: %w", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, errors.New("the state is no object")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("the state has a value that JSON does not have: %w", err)
	}
	return text, nil
}
