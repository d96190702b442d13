package modelconfig

// Machine is what instance groups and validation depend on.
type Machine struct {
	// GPUs are the indices of the usable GPUs.
	GPUs []int32
	// NoGPUSupport says that this program cannot use GPUs at all.
	NoGPUSupport bool
	// MinComputeCapability is printed in messages; 0 means 7.5.
	MinComputeCapability float64
	// Preferred are the groups that the backend asks for when the
	// configuration leaves the choice open.
	Preferred []PreferredGroup
}

// Normalize fills the defaults that Triton fills at load (and again after a
// backend completed the configuration): version policy, preferred batch sizes,
// sequence idle time and pinned memory.
func (c *Config) Normalize() { normalize(c.ModelConfig) }

// NormalizeInstanceGroups adds the default group and fills name, kind, count
// and GPUs of each. Ensembles have none.
func (c *Config) NormalizeInstanceGroups(m Machine) { normalizeGroups(c.ModelConfig, m) }
