package stats

import (
	"strconv"
	"sync"

	"triton/pkg/inferencepb"
)

// Response is one response of a request to a decoupled model. The times are in
// nanoseconds.
type Response struct {
	Index   int   // from 0 within its request
	Infer   int64 // until its outputs were ready
	Output  int64 // from then until it was complete; 0 if it failed without outputs
	Outcome Outcome
}

// Outcome is the result of sending a response.
type Outcome uint8

// The outcomes.
const (
	Succeeded Outcome = iota
	Failed
	Empty     // it had no data
	Abandoned // no caller waited for it
)

// maxResponses bounds the table. Later responses of a request are not counted by index.
const maxResponses = 1 << 16

// responses counts the responses of decoupled requests by their index.
type responses struct {
	mu  sync.Mutex
	all []responseCounts
}

type responseCounts struct{ infer, output, success, fail, empty, cancel Count }

func (c *Count) add(ns int64) {
	c.Count++
	c.Ns += uint64(max(ns, 0))
}

// Responded counts a response.
func (m *Model) Responded(r Response) {
	if r.Index >= maxResponses {
		return
	}
	m.responses.mu.Lock()
	defer m.responses.mu.Unlock()
	for len(m.responses.all) <= r.Index {
		m.responses.all = append(m.responses.all, responseCounts{})
	}
	c := &m.responses.all[r.Index]
	switch total := r.Infer + r.Output; r.Outcome {
	case Succeeded:
		c.infer.add(r.Infer)
		c.output.add(r.Output)
		c.success.add(total)
	case Failed:
		c.infer.add(r.Infer)
		if r.Output > 0 {
			c.output.add(r.Output)
		}
		c.fail.add(total)
	case Empty:
		c.infer.add(total)
		c.empty.add(total)
	case Abandoned:
		c.cancel.add(total)
	}
}

// snapshot returns the counters by the index as text; nil if there are none.
func (r *responses) snapshot() map[string]*inferencepb.InferResponseStatistics {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return nil
	}
	byIndex := make(map[string]*inferencepb.InferResponseStatistics, len(r.all))
	for i, c := range r.all {
		byIndex[strconv.Itoa(i)] = &inferencepb.InferResponseStatistics{
			ComputeInfer: c.infer.proto(), ComputeOutput: c.output.proto(), Success: c.success.proto(),
			Fail: c.fail.proto(), EmptyResponse: c.empty.proto(), Cancel: c.cancel.proto(),
		}
	}
	return byIndex
}
