// Package modelconfig reads and checks config.pbtxt, the configuration of one model: a
// text-format parser that keeps the position of every field, Triton's defaults and
// normalization, its validation with its own message texts, the choice of backend and
// of versions, and the text and JSON forms. It checks the files beside a model that a
// configuration names, and runs the program's own repository agent. It reads no model
// and loads none; pkg/onnxmodel completes a configuration from a model file.
package modelconfig

import (
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/inferencepb"
)

// FileName is the name of the configuration in a model's directory.
const FileName = "config.pbtxt"

// NamedFolder is the folder in a model's directory with configurations that a server may be told to read in place of
// FileName.
const NamedFolder = "configs"

// PathIn returns the path of the configuration that a server reads of the model in dir; name is its model-config-name,
// or empty.
func PathIn(dir, name string) string {
	if name != "" {
		path := filepath.Join(dir, NamedFolder, name+".pbtxt")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return filepath.Join(dir, FileName)
}

// Config is a model configuration with the positions of its fields.
type Config struct {
	*inferencepb.ModelConfig
	// File is the path in messages; empty if there is no file.
	File string

	pos map[string]Position
}

// New returns the Config of a configuration that was not read from a text file.
func New(file string, cfg *inferencepb.ModelConfig) *Config {
	return &Config{ModelConfig: cfg, File: file}
}

// Position is a position in a file. Line and Col count from 1, Col in bytes; the zero
// value means unknown.
type Position struct{ Line, Col int }

// maxPath is more than the length of the longest path of a field, in bytes.
const maxPath = 8 * maxName

// Position returns where a field was set, such as "input[0].dims[1]" or
// "parameters[\"k\"].string_value". A field that was not written has the position of
// the nearest enclosing field that was.
func (c *Config) Position(path string) Position {
	path = path[:min(len(path), maxPath)]
	for {
		if p, ok := c.pos[path]; ok {
			return p
		}
		end := strings.LastIndexAny(path, ".[")
		if end < 0 {
			return Position{}
		}
		path = path[:end]
	}
}

// Has reports whether the file sets the field at path.
func (c *Config) Has(path string) bool {
	_, ok := c.pos[path]
	return ok
}
