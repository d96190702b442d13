package host

import (
	"triton/pkg/modelconfig/extension"
	"triton/server/hostpolicy"
)

// Spec is a backend.Spec for a child.
type Spec struct {
	Backend  string            `json:"backend"`
	Name     string            `json:"name"`
	Version  int64             `json:"version"`
	Config   []byte            `json:"config"` // protobuf
	Dir      string            `json:"dir"`
	File     string            `json:"file"`
	Settings map[string]string `json:"settings,omitempty"`
	CPUs     int               `json:"cpus"`
	// Capabilities are the CUDA compute capabilities of the GPUs by index.
	Capabilities []string `json:"capabilities,omitempty"`
}

// Placement is a backend.Placement for a child.
type Placement struct {
	Name      string `json:"name"`
	Kind      int32  `json:"kind"`
	Device    int    `json:"device"`
	Group     []byte `json:"group"` // protobuf
	Instances int    `json:"instances"`
	// HostPolicy is bound in the child too.
	HostPolicy hostpolicy.Policy `json:"host_policy"`
}

// Abilities are what a backend can do.
type Abilities struct {
	Completes bool `json:"completes"` // it is a backend.AutoCompleter
	GPU       bool `json:"gpu"`       // it can use GPUs
}

// Made describes an instance that was made.
type Made struct {
	Checks bool `json:"checks"` // it is a backend.ReadinessChecker
}

// Start is the argument of a child: what it imposes on itself before it runs a model.
type Start struct {
	Model   string            `json:"model,omitempty"` // for people who look at the processes
	Version int64             `json:"version,omitempty"`
	Limits  extension.Process `json:"limits"`
}
