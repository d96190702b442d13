// Package scenario is scripted arrivals of requests and what becomes of them: which batches
// are run and when, who is answered what, what the statistics say. NVIDIA's server has
// recorded its part in the files, with a Python model that notes what it is given; ours
// must do the same in virtual time, with a backend of the same behavior, or have a reason
// written down.
//
// A file begins with lines "key: value" that say what server it needs:
// "flags" for the command line. A scenario is
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
//	! reason, or several
//	= what is ours instead, all of it
//
// The lines below "model" are its configuration; see Model for its options. An
// event has its time in milliseconds; those of the same time follow each other
// by Step. "end" says how long to watch when that is longer than until the last
// answer. Recorded times are rounded down to Grid. A real machine is late: runs
// whose times differ by one step of the grid count as the same, and the earlier
// times are recorded. So scripts keep what they tell apart further apart.
//
// A run names the requests of a batch in their order: "*2" is more rows than
// one, "(START=1)" the control inputs, "{A}" the inputs that came when some are
// optional, "-" a null request. See lines.go for the rest.
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
	Needs     map[string]string // the file's head
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
