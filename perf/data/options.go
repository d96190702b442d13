// Package data makes the input tensors of a load: random or zero bytes, files of
// a directory, or JSON data files, loaded and checked before the load starts.
// It does not encode requests and knows nothing of time.
package data

// Source is where inputs come from.
type Source uint8

// The sources.
const (
	Random Source = iota
	Zero
	Files // paths of JSON files, or one directory
)

// Options say how inputs are made.
type Options struct {
	Source       Source
	Paths        []string
	Shapes       map[string][]int64 // for inputs with variable dimensions
	StringLength int
	StringData   string
}

// DefaultOptions is perf_analyzer's: random data, strings of 128 characters.
func DefaultOptions() Options { return Options{StringLength: 128} }
