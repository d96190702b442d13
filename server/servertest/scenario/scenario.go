// Package scenario compares how NVIDIA's server and this one schedule scripted requests. A
// script lists the arrivals; a record lists the batches with their times, the responses and the
// statistics. The records of NVIDIA's server are in the files: they were made with a Python
// model that logs its batches. A test runs the same scripts on this server in virtual time,
// with a backend of the same behavior. Its record must be the same, or the file must have the
// reason for the difference.
//
// A file begins with lines "key: value" with the settings of the server, such as "flags" for
// its command line. A scenario is
//
//	## name
//	model m exec=100
//	  max_batch_size: 8
//	  dynamic_batching { }
//	> 0 a rows=2 value=7
//	> 50 b model=m seq=4 start end priority=1 timeout=1000
//	> 80 cancel a
//	> 500 end
//	< 0 run m a*2
//	< 100 a OK OUT=7*2
//	< stats m infer=2 exec=1 ok=1 fail=0 sizes=2:1
//	! reason of a difference; may repeat
//	= a line of this server's whole record, if it differs
//
// The indented lines below "model" are its configuration; Model lists its options. An event
// begins with its time in milliseconds; events of the same time follow each other by Step.
// "end" extends the scenario beyond the last response. Recorded times are rounded down to Grid.
// A real machine is late: runs whose times differ by one step of the grid count as the same,
// and the earlier times are recorded. So times that a script distinguishes must differ by more.
//
// A run lists the requests of a batch in their order: "*2" is the number of rows if it is not
// 1, "(START=1)" the control inputs, "{A}" the inputs of the request if some are optional, "-"
// a null request. The functions of lines.go write the other lines.
package scenario

import (
	"embed"
	"io/fs"
	"path"
	"strings"
	"time"
)

const (
	// Step is the time between two events of the same moment.
	Step = 4 * time.Millisecond
	// Grid is the resolution to which recorded times are rounded down.
	Grid = 100 * time.Millisecond
	// early is the time by which an event may be recorded too early.
	early = 5 * time.Millisecond
)

// Python is the model for NVIDIA's server that records its batches.
//
//go:embed testdata/model.py
var Python string

//go:embed testdata/*.txt
var files embed.FS

// Suite is the scenarios of one file, which one server can run.
type Suite struct {
	Name      string
	Needs     map[string]string // settings of the server, from the head of the file
	Scenarios []*Scenario
}

// Scenario is one script with its records.
type Scenario struct {
	Name    string
	Line    int
	Models  []Model
	Events  []Event
	NVIDIA  []string // record of NVIDIA's server
	Reasons []string // why ours differs
	Ours    []string // only with a reason
}

// Want returns the expected record of our server.
func (s *Scenario) Want() []string {
	if len(s.Reasons) > 0 {
		return s.Ours
	}
	return s.NVIDIA
}

// Suites reads all files by name.
func Suites() ([]*Suite, error) {
	names, err := fs.Glob(files, "testdata/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Suite
	for _, n := range names {
		text, err := files.ReadFile(n)
		if err != nil {
			return nil, err
		}
		s, err := Parse(strings.TrimSuffix(path.Base(n), ".txt"), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
