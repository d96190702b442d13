package traffic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"triton/pkg/replacefile"
	"triton/pkg/trafficrules"
)

// canaryFile are the states of canaries in a file, so that they go on after a restart.
type canaryFile struct {
	path    string // empty: nothing is kept
	entries map[string]recorded
	dirty   bool // entries differ from the file
}

// recorded is the state of the canary of a name.
type recorded struct {
	// Canary is the part of the rules that the state is of: with another one a canary begins anew.
	Canary json.RawMessage          `json:"canary"`
	State  trafficrules.CanaryState `json:"state"`
	Step   int                      `json:"step"` // from 1
	Since  time.Time                `json:"since"`
	Reason string                   `json:"reason,omitempty"`
}

// readRecords reads the file. A file that is damaged is not used.
func (s *Service) readRecords() {
	s.canaryFile = canaryFile{path: s.opts.Record, entries: map[string]recorded{}}
	if s.canaryFile.path == "" {
		return
	}
	text, err := os.ReadFile(s.canaryFile.path)
	if err == nil {
		err = json.Unmarshal(text, &s.canaryFile.entries)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.canaryFile.entries = map[string]recorded{}
		s.opts.Log.Warn(fmt.Sprintf("the states of canaries are not read, so canaries begin with their first step: %s", err))
	}
}

// resumeCanary returns a canary, which goes on where it was before the restart.
func (s *Service) resumeCanary(model string, c *trafficrules.Canary) *canary {
	o := canaryOptions{Config: c, Now: time.Now()}
	text, err := json.Marshal(c)
	if e, ok := s.canaryFile.entries[model]; ok && err == nil && bytes.Equal(compacted(e.Canary), text) {
		o.From = &savedCanary{State: e.State, Step: e.Step, Since: e.Since, Reason: e.Reason}
	} else if ok {
		s.forget(model)
	}
	return newCanary(o)
}

// compacted returns a JSON text without white space; nil if it is none.
func compacted(text json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return nil
	}
	return b.Bytes()
}

// remember keeps the state of a canary for a restart. The caller holds the lock.
func (s *Service) remember(n *name) {
	if s.canaryFile.path == "" {
		return
	}
	text, err := json.Marshal(n.canary.Config())
	if err != nil {
		return
	}
	st := n.canary.Status()
	s.canaryFile.entries[n.name] = recorded{Canary: text, State: st.State, Step: st.Step, Since: st.Since, Reason: st.Reason}
	s.canaryFile.dirty = true
}

// forget drops what is kept of a name. The caller holds the lock.
func (s *Service) forget(model string) {
	if _, ok := s.canaryFile.entries[model]; ok {
		delete(s.canaryFile.entries, model)
		s.canaryFile.dirty = true
	}
}

// save writes what has changed to the file, without the lock: a slow disk holds up no load.
func (s *Service) save() {
	s.mu.Lock()
	if !s.canaryFile.dirty {
		s.mu.Unlock()
		return
	}
	s.canaryFile.dirty = false
	text, err := json.MarshalIndent(s.canaryFile.entries, "", "  ")
	path := s.canaryFile.path
	s.mu.Unlock()
	if err == nil {
		err = replacefile.Text(path, 0o600, append(text, '\n'))
	}
	if err != nil {
		s.opts.Log.Warn(fmt.Sprintf("the states of canaries are not kept for a restart: %s", err))
	}
}
