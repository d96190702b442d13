package modelconfig

import "io/fs"

// Detect fills name, backend, platform and default model file name from what
// the configuration says and what lies in the model's directory, as Triton
// does: it looks at the alphabetically first subdirectory only.
func (c *Config) Detect(model string, dir fs.FS) error { return detect(c.ModelConfig, model, dir) }
