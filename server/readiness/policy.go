// Package readiness decides from the states of the models whether a server is ready, and says
// what is missing. It knows neither the models themselves nor the protocols that ask.
package readiness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mode says which models a server needs to be ready.
type Mode uint8

// The modes.
const (
	// Triton needs every version of every model that was loaded and not unloaded since, as
	// NVIDIA's server does with --strict-readiness: a version that loads or unloads counts too.
	Triton Mode = iota
	// Live needs no model, as NVIDIA's server does without --strict-readiness.
	Live
	// Strict needs every model that should be loaded to serve. Versions that load or unload
	// beside one that serves do not count, and neither do models that were unloaded by hand.
	Strict
	// Any needs one model that serves.
	Any
	// Required needs the listed models to serve, and no other.
	Required
)

// Policy is a mode and, for Required, its models.
type Policy struct {
	Mode   Mode
	Models []Need // of Required
}

// Need is a required model. Without a version any version will do.
type Need struct{ Name, Version string }

// String returns "name" or "name:version".
func (n Need) String() string {
	if n.Version == "" {
		return n.Name
	}
	return n.Name + ":" + n.Version
}

const requiredPrefix = "required:"

// Parse parses "strict", "any" or "required:a,b:2".
func Parse(text string) (Policy, error) {
	list, required := strings.CutPrefix(text, requiredPrefix)
	switch {
	case text == "strict":
		return Policy{Mode: Strict}, nil
	case text == "any":
		return Policy{Mode: Any}, nil
	case required:
		return ParseRequired(strings.Split(list, ","))
	}
	return Policy{}, fmt.Errorf("readiness %q: use strict, any, or required: and a list of <model> and <model>:<version>", text)
}

// ParseRequired returns the policy that needs these models, each "name" or "name:version".
func ParseRequired(list []string) (Policy, error) {
	p := Policy{Mode: Required}
	for _, item := range list {
		n := Need{Name: strings.TrimSpace(item)}
		// Names of models may contain a colon; a version is a number.
		if i := strings.LastIndexByte(n.Name, ':'); i >= 0 && isNumber(n.Name[i+1:]) {
			n.Name, n.Version = n.Name[:i], n.Name[i+1:]
		}
		if n.Name == "" {
			return Policy{}, errors.New("a required model has no name")
		}
		if !slices.Contains(p.Models, n) {
			p.Models = append(p.Models, n)
		}
	}
	return p, nil
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String returns the text that Parse reads; for the modes of NVIDIA's server the value of
// --strict-readiness.
func (p Policy) String() string {
	switch p.Mode {
	case Triton:
		return "strict-readiness=true"
	case Live:
		return "strict-readiness=false"
	case Strict:
		return "strict"
	case Any:
		return "any"
	case Required:
	}
	names := make([]string, len(p.Models))
	for i, n := range p.Models {
		names[i] = n.String()
	}
	return requiredPrefix + strings.Join(names, ",")
}
