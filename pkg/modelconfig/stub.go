package modelconfig


type validator struct {
	c     *Config
	found []Finding
}

func newValidator(c *Config) *validator     { return &validator{c: c} }
func (v *validator) config()                {}
func (v *validator) io()                    {}
func (v *validator) instanceGroups(Machine) {}

