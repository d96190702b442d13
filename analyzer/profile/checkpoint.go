// The finished trials of a profile are kept in a file, in the form of Model Analyzer's checkpoints, so that a
// later run measures only what is missing and reports can be made again.

package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"triton/analyzer/bench"
	"triton/analyzer/trial"
	"triton/pkg/replacefile"
)

// Checkpoint is the content of a checkpoint.
type Checkpoint struct {
	Names  *VariantNames
	Trials []RecordedTrial // in the order of measurement
	// ServerOnly has the metrics of a server without models by device.
	ServerOnly map[string]trial.Values
	GPUs       map[string]GPU // by UUID
	Seed       uint64         // of optuna's search; 0 if there was none
	Tool       string         // that has written it; empty for Model Analyzer
}

// RecordedTrial is a finished trial.
type RecordedTrial struct {
	// Key identifies the configurations, the load and the options of the measurement.
	Key     string
	Options []bench.LoadOptions // of the members
	Result  trial.Result        // with a measurement; its proposal is not kept
	// Foreign reports that Model Analyzer measured it.
	Foreign bool
}

// newCheckpoint returns a state without trials.
func newCheckpoint() *Checkpoint { return &Checkpoint{Names: newVariantNames()} }

// Find returns the trial with a key.
func (s *Checkpoint) Find(key string) (RecordedTrial, bool) {
	for _, t := range s.Trials {
		if t.Key == key {
			return t, true
		}
	}
	return RecordedTrial{}, false
}

// Forget removes the trials of the variants of c that had other configurations, and returns how many:
// the default variant of a model changes when its configuration is edited. Trials of Model Analyzer
// stay, because it completes configurations in its own way and they are never the same.
func (s *Checkpoint) Forget(c trial.Config) int {
	before := len(s.Trials)
	s.Trials = slices.DeleteFunc(s.Trials, func(t RecordedTrial) bool {
		old := t.Result.Config
		return !t.Foreign && slices.Equal(old.Models(), c.Models()) && CheckpointName(old) == CheckpointName(c) && !sameConfigs(old, c)
	})
	return before - len(s.Trials)
}

func sameConfigs(a, b trial.Config) bool {
	return slices.EqualFunc(a.Members, b.Members, func(x, y trial.Member) bool {
		same := func(v, w trial.Variant) bool { return proto.Equal(v.Config, w.Config) }
		return same(x.Variant, y.Variant) && slices.EqualFunc(x.Composing, y.Composing, same)
	})
}

// CheckpointDirectory is a folder of checkpoints: 0.ckpt, 1.ckpt, one for each run.
type CheckpointDirectory string

const checkpointExtension = ".ckpt"

// Latest reads the newest checkpoint. Without any, the state is nil and next 0. next is the number for
// the checkpoint of this run.
func (d CheckpointDirectory) Latest() (s *Checkpoint, file string, next int, err error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", 0, fmt.Errorf("checkpoints: %w", err)
	}
	last := -1
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), checkpointExtension)
		if n, err := strconv.Atoi(stem); ok && err == nil {
			last = max(last, n)
		}
	}
	if last < 0 {
		return nil, "", 0, nil
	}
	file = d.file(last)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", 0, fmt.Errorf("checkpoint: %w", err)
	}
	s = &Checkpoint{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, "", 0, fmt.Errorf("checkpoint file %s is empty or corrupted (%w); remove it from the checkpoint directory", file, err)
	}
	return s, file, last + 1, nil
}

func (d CheckpointDirectory) file(n int) string {
	return filepath.Join(string(d), strconv.Itoa(n)+checkpointExtension)
}

// Save writes checkpoint n and returns its name. A crash leaves the checkpoint before.
func (d CheckpointDirectory) Save(n int, s *Checkpoint) (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	if err := replacefile.Text(d.file(n), 0o644, text); err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	return d.file(n), nil
}
