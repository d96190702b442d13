// Package data makes the input tensors of a load: random or zero bytes, files of
// a directory, or JSON data files, loaded and checked before the load starts.
package data

// Source is the source of inputs.
type Source uint8

// The sources.
const (
	Random Source = iota
	Zero
	Files // paths of JSON files, or one directory
)

// Options configure the inputs.
type Options struct {
	Source       Source
	Paths        []string
	Shapes       map[string][]int64 // for inputs with variable dimensions
	StringLength int
	StringData   string
}

// DefaultOptions returns perf_analyzer's defaults: random data, strings of 128 characters.
func DefaultOptions() Options { return Options{StringLength: 128} }
