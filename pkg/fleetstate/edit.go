package fleetstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Edit is a change of the text of a document in JSON. It keeps fields that are not known.
type Edit struct {
	top    map[string]json.RawMessage
	models map[string]map[string]json.RawMessage
}

// NewEdit begins to change a document. Without text the document is empty. YAML is refused: its
// comments would be lost.
func NewEdit(text []byte) (*Edit, error) {
	e := &Edit{top: map[string]json.RawMessage{}, models: map[string]map[string]json.RawMessage{}}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return e, nil
	}
	if text[0] != '{' {
		return nil, errors.New("a server writes a state in JSON only: the comments of YAML would be lost")
	}
	if err := json.Unmarshal(text, &e.top); err != nil {
		return nil, fmt.Errorf("the state cannot be read: %w", err)
	}
	if models := e.top["models"]; models != nil {
		if err := json.Unmarshal(models, &e.models); err != nil {
			return nil, fmt.Errorf("the models of the state cannot be read: %w", err)
		}
		if e.models == nil { // null, which Parse refuses too
			return nil, errNoModels
		}
	}
	return e, nil
}

// Load adds a model, or changes its configuration. Its other fields stay. Versions, which exclude
// a configuration, are removed with one.
func (e *Edit) Load(name string, config *string) error {
	m := e.models[name]
	if m == nil {
		m = map[string]json.RawMessage{}
		e.models[name] = m
	}
	if config == nil {
		delete(m, "config")
		return nil
	}
	text, err := compact(json.RawMessage(*config))
	if err != nil {
		return fmt.Errorf("the configuration of model '%s' cannot be written to the state: %w", name, err)
	}
	m["config"] = text
	delete(m, "versions")
	return nil
}

// Unload removes a model.
func (e *Edit) Unload(name string) { delete(e.models, name) }

// Text returns the changed document, with the next generation.
func (e *Edit) Text() ([]byte, error) {
	var generation int64
	if text := e.top["generation"]; text != nil {
		if err := json.Unmarshal(text, &generation); err != nil {
			return nil, fmt.Errorf("the generation of the state is no number: %w", err)
		}
	}
	models, err := json.Marshal(e.models)
	if err != nil {
		return nil, err
	}
	e.top["models"] = models
	e.top["generation"], _ = json.Marshal(generation + 1)
	text, err := json.MarshalIndent(e.top, "", "  ")
	return append(text, '\n'), err
}
