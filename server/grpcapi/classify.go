package grpcapi

import (
	"triton/pkg/kserve"
	"triton/server/infer"
	"triton/server/memory"
)

// classify replaces outputs by their top classes where the request wants a classification. Their
// memory is charged.
func classify(m infer.Model, r *infer.Request, resp *infer.Response, memory *memory.Charge) error {
	var classes kserve.Classes
	for i := range r.Outputs {
		o := &r.Outputs[i]
		if o.Classification == 0 {
			continue
		}
		t := resp.Output(o.Name)
		if t == nil {
			continue
		}
		if err := memory.Take(t.ClassesSize(int(min(o.Classification, 1<<30)))); err != nil {
			return err
		}
		top, err := classes.Of(t, int(o.Classification), m.Config().GetMaxBatchSize() > 0, m.Labels(o.Name))
		if err != nil {
			return err
		}
		t.Data.Release()
		*t = *top
	}
	return nil
}
