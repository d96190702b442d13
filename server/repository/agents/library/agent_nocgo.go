//go:build !cgo || !linux

package library

import "triton/pkg/status"

// Agent is an agent in a library, which this build cannot open.
type Agent struct{}

// Model is a model that an agent has.
type Model struct{}

// Open refuses: this program was built without the ability to open libraries.
func Open(path string) (*Agent, error) {
	return nil, status.New(status.Unsupported, "cannot load repository agent %s: this program was built without cgo, or for another system than Linux; use the agent 'checksum', which is part of it", path)
}

// Close does nothing.
func (*Agent) Close() error { return nil }

// NewModel returns nil: no agent opens in this build.
func (*Agent) NewModel(Spec) (*Model, error) { return nil, nil }

// Initialize does nothing.
func (*Model) Initialize() error { return nil }

// Act does nothing.
func (*Model) Act(Action) error { return nil }

// Location returns the zero Location.
func (*Model) Location() Location { return Location{} }

// Close does nothing.
func (*Model) Close() error { return nil }
