package modelconfig

// Validate checks everything but inputs, outputs and instance groups, on a
// normalised configuration. The findings are in the order of Triton's checks,
// so the first one is what Triton reports.
func (c *Config) Validate() []Finding { v := newValidator(c); v.config(); return v.found }

// ValidateIO checks inputs, outputs and batch tensors. Triton does it after
// auto-completion (or before, where that is off).
func (c *Config) ValidateIO() []Finding { v := newValidator(c); v.io(); return v.found }

// ValidateInstanceGroups checks the groups after NormalizeInstanceGroups.
func (c *Config) ValidateInstanceGroups(m Machine) []Finding {
	v := newValidator(c)
	v.instanceGroups(m)
	return v.found
}
