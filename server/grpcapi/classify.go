package grpcapi

import (
	"triton/pkg/kserve"
	"triton/server/infer"
)

// classify replaces outputs by their top classes where the request wants a classification.
func classify(m infer.Model, r *infer.Request, resp *infer.Response) error {
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
		top, err := classes.Of(t, int(o.Classification), m.Config().GetMaxBatchSize() > 0, m.Labels(o.Name))
		if err != nil {
			return err
		}
		t.Data.Release()
		*t = *top
	}
	return nil
}
