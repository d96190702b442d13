package perf

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Profile holds every request that ended in a window of a level. Times are nanoseconds since
// the epoch.
type Profile struct {
	Windows  []int64 // the start of the first window and the end of each
	Requests []RequestRecord
}

// RequestRecord is one request with its responses.
type RequestRecord struct {
	Start     int64
	Sequence  uint64 // 0: none
	Inputs    []kserve.Tensor
	Responses []ResponseRecord
}

// ResponseRecord is one response. The empty final response of a decoupled model has all
// outputs without data.
type ResponseRecord struct {
	Time    int64
	Outputs []kserve.Tensor
}

// recorder collects the requests of a run, not yet decoded.
type recorder struct {
	mu struct {
		sync.Mutex
		records []record
	}
}

// record is one request on lane.Now's clock, with copies of its responses.
type record struct {
	request   load.Request
	start     int64
	responses []int64
	bodies    []lane.Exchange // with Body and JSONLen
}

func (r *recorder) add(sent *load.Request, x *lane.Exchange) {
	rec := record{request: *sent, start: x.Start}
	if len(x.Responses) == 0 {
		rec.responses = []int64{x.End}
		rec.bodies = []lane.Exchange{{Body: bytes.Clone(x.Body), JSONLen: x.JSONLen}}
	} else {
		rec.responses = slices.Clone(x.Responses)
		for _, b := range x.Bodies {
			rec.bodies = append(rec.bodies, lane.Exchange{Body: bytes.Clone(b)})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.records = append(r.mu.records, rec)
}

// take returns the requests that ended in [from, to], and forgets all.
func (r *recorder) take(from, to int64) []record {
	r.mu.Lock()
	all := r.mu.records
	r.mu.records = nil
	r.mu.Unlock()
	return slices.DeleteFunc(all, func(rec record) bool {
		end := rec.responses[len(rec.responses)-1]
		return end < from || end > to
	})
}

// keepProfile hands over the requests of a level.
func (r *run) keepProfile(cursor *windowCursor, l *Level) error {
	if r.recorder == nil {
		return nil
	}
	p, err := r.profile(cursor.edges, l.Batch)
	if err != nil {
		return err
	}
	if r.settings.Profile {
		l.Profile = p
	}
	if r.deps.Profiled == nil {
		return nil
	}
	return r.deps.Profiled(l, p)
}

// profile decodes the requests of the windows of a level. Windows are on lane.Now's clock.
func (r *run) profile(windows []int64, batch int) (*Profile, error) {
	epoch := time.Now().UnixNano() - lane.Now()
	p := &Profile{}
	for _, w := range windows {
		p.Windows = append(p.Windows, w+epoch)
	}
	records := r.recorder.take(windows[0], windows[len(windows)-1])
	slices.SortStableFunc(records, func(a, b record) int { return int(a.start - b.start) })
	for _, rec := range records {
		req, err := rec.request.Sent, error(nil)
		if req == nil {
			req, err = r.set.Request(rec.request.Stream, rec.request.Step, batch)
		}
		if err != nil {
			return nil, err
		}
		out := RequestRecord{Start: rec.start + epoch, Sequence: rec.request.Sequence.ID, Inputs: req.Inputs}
		for i, at := range rec.responses {
			var resp kserve.Response
			if err := r.client.Decode(&rec.bodies[i], &resp); err != nil {
				return nil, err
			}
			if len(resp.Outputs) == 0 {
				r.addEmptyOutputs(&resp)
			}
			out.Responses = append(out.Responses, ResponseRecord{Time: at + epoch, Outputs: resp.Outputs})
		}
		p.Requests = append(p.Requests, out)
	}
	return p, nil
}

// addEmptyOutputs adds the outputs of the model without data. As in perf_analyzer they stand
// in a final response without outputs; genai-perf looks for them there.
func (r *run) addEmptyOutputs(resp *kserve.Response) {
	for _, out := range r.set.Signature.Outputs {
		t := resp.AddOutput()
		t.Name, t.DataType, t.Shape = out.Name, out.DataType, tensor.Shape{0}
	}
}
