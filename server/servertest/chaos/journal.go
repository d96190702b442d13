package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// happened is the line of the journal about an episode.
type happened struct {
	Event
	Begun time.Duration `json:"begun"` // since the start of the events
	Took  time.Duration `json:"took"`
	Error string        `json:"error,omitempty"`
}

// journal is a file of JSON lines: the plan, each episode when it has ended, and the summary.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func openJournal(path string, p Plan) (*journal, error) {
	if path == "" {
		return &journal{}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f}
	j.write(p)
	return j, nil
}

// write appends a line. What cannot be written is not worth ending a run.
func (j *journal) write(v any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		_ = json.NewEncoder(j.file).Encode(v)
	}
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
	}
}

// ReadPlan reads the plan of a journal: the episodes that began, at their times.
func ReadPlan(path string) (Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return Plan{}, err
	}
	defer f.Close()
	var p Plan
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			if err := json.Unmarshal(lines.Bytes(), &p); err != nil || p.Control == "" {
				return p, fmt.Errorf("%s:1: is not the plan of a run (%w)", path, err)
			}
			continue
		}
		var h happened
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			return p, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if h.Kind != "" {
			h.At = h.Begun
			p.Events = append(p.Events, h.Event)
		}
	}
	slices.SortStableFunc(p.Events, func(a, b Event) int { return int(a.At - b.At) })
	return p, lines.Err()
}
