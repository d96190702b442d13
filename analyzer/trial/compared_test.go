package trial

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// objectives reads a JSON object of weights in its order, which decides which missing metric counts.
type objectives []Objective

func (o *objectives) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		tag, err := dec.Token()
		if err != nil {
			return err
		}
		var weight int
		if err := dec.Decode(&weight); err != nil {
			return err
		}
		*o = append(*o, Objective{Tag: Metric(tag.(string)), Weight: weight})
	}
	return nil
}

// TestComparisonsOfModelAnalyzer compares random measurements as testdata/record.py has had Model
// Analyzer 1.58.0 compare them.
func TestComparisonsOfModelAnalyzer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "compared.jsonl"))
	require.NoError(t, err)
	cases, missing := 0, 0
	for line := range strings.Lines(string(text)) {
		var c struct {
			Goals []struct {
				Weight      int
				Objectives  objectives
				Constraints map[Metric]struct{ Min, Max *float64 }
			}
			A, B                 []Values
			Score, Gain, Failure float64
			Passes               bool
			Constraints          *float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		var goals []Goal
		for _, g := range c.Goals {
			goal := Goal{Weight: g.Weight, Objectives: g.Objectives}
			for tag, b := range g.Constraints {
				goal.Constraints = append(goal.Constraints, Constraint{Tag: tag, Min: b.Min, Max: b.Max})
			}
			goals = append(goals, goal)
		}
		s := NewScorer(goals...)
		a, b := &Measurement{Members: c.A}, &Measurement{Members: c.B}
		assert.InDelta(t, c.Score, s.Score(a, b), 1e-9, line)
		assert.InDelta(t, c.Gain, s.Gain(a, b), 1e-9, line)
		assert.InDelta(t, c.Failure, s.ViolationPercent(a), 1e-9, line)
		assert.Equal(t, c.Passes, s.Passes(a), line)
		assert.Equal(t, c.Constraints != nil, !s.Passes(a) && !s.Passes(b), line)
		if c.Constraints != nil { // positive if b is closer to its constraints
			assert.InDelta(t, *c.Constraints, (s.ViolationPercent(a)-s.ViolationPercent(b))/100, 1e-9, line)
		}
		cases++
		if len(c.A[0]) != len(c.B[0]) {
			missing++
		}
	}
	assert.Equal(t, 60, cases)
	assert.Positive(t, missing, "some cases lack a metric")
}
