package lint_test

import (
	"testing"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/repo/lint/linttest"
)

// FuzzServe lints a configuration of a built-in backend and serves it: the verdicts agree.
func FuzzServe(f *testing.F) {
	backends := servable(f)
	g, err := linttest.New(f.Context(), false, false)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range g.Bases() {
		for _, name := range c.Files.Models() {
			f.Add(c.Files[name+"/"+modelconfig.FileName])
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := modelconfig.Parse("", []byte(text)); err == nil && !cheap(c.ModelConfig) {
			t.Skip("it takes long to load, or depends on the machine")
		}
		var total confusion
		compare(t, backends, linttest.Case{Base: "fuzz", What: []string{text}, Files: linttest.Files{"m/config.pbtxt": text, "m/1/": ""}}, &total)
	})
}

// cheap reports whether a configuration makes few instances and little data, starts no process, and
// needs nothing that only some machines have.
func cheap(c *inferencepb.ModelConfig) bool {
	const most = 8
	instances := 0
	for _, g := range c.InstanceGroup {
		instances += max(int(g.Count), 1)
		if g.Count > most {
			return false
		}
	}
	for _, w := range c.ModelWarmup {
		elements := int64(max(w.BatchSize, 1)) * int64(max(w.Count, 1))
		for _, in := range w.Inputs {
			for _, d := range in.Dims {
				if d > 1<<10 || elements > 1<<20 {
					return false
				}
				elements *= max(d, 1)
			}
		}
		if elements > 1<<20 {
			return false
		}
	}
	for _, s := range c.GetSequenceBatching().GetState() {
		elements := int64(1)
		for _, d := range s.Dims {
			if d > 1<<10 || elements > 1<<20 {
				return false
			}
			elements *= max(d, 1)
		}
	}
	slow := c.Parameters["creation_delay_sec"] != nil || c.Parameters["execute_delay_ms"] != nil && len(c.ModelWarmup) > 0
	return instances <= most && !slow && c.Backend != "fault" && c.Backend != "query" && c.MaxBatchSize <= 1<<10 && c.ModelOperations == nil &&
		!startsProcess(c) && c.ModelRepositoryAgents == nil
}

// startsProcess reports whether the backend of a model runs in Python.
func startsProcess(c *inferencepb.ModelConfig) bool {
	switch c.Backend {
	case "identity", "repeat", "square", "sequence", "dyna_sequence", "implicit_state", "iterative_sequence", "tokenizer", "postprocessor", "onnxruntime", "tensorrt":
		return false
	}
	return c.Platform != "ensemble"
}
