// Package data makes the input tensors of a load: random or zero values, files of
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

	Steps  int              // of random data, each with values of its own; 0 means one
	Ranges map[string]Range // of random numbers, by input
	Seed   uint64           // of random data

	// Shared reports that other models use the same files: tensors that the model does not have are passed
	// over.
	Shared bool

	// Timestamps reads the time of each step from its "timestamp", in milliseconds.
	Timestamps bool
	// Sessions reads the session of each step from its "session_id", and the milliseconds
	// before the next step of that session from its "delay".
	Sessions bool
}

// Range holds the least and the greatest random number of an input, as text: the data type of
// the input decides which numbers are valid.
type Range struct{ Low, High string }

// DefaultOptions returns perf_analyzer's defaults: one step of random data, strings of 128
// characters.
func DefaultOptions() Options { return Options{StringLength: 128} }
