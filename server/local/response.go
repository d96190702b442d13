package local

import (
	"triton/pkg/client"
	"triton/pkg/kserve"
	"triton/server/infer"
)

// response converts a response of a model to r. Outputs are copied out of the server's memory.
func response(m infer.Model, r *infer.Request, from *infer.Response) (*client.Response, error) {
	to := &client.Response{
		Model: from.ModelName, Version: from.ModelVersion, ID: from.ID,
		Parameters: make(map[string]any, len(from.Parameters)), Outputs: make([]client.Tensor, 0, len(from.Outputs)),
	}
	if to.Model == "" {
		to.Model, to.Version = m.Name(), m.Version()
	}
	if to.ID == "" {
		to.ID = r.ID
	}
	for i := range from.Parameters {
		to.Parameters[from.Parameters[i].Name] = from.Parameters[i].Value()
	}
	var classes kserve.Classes
	for i := range from.Outputs {
		t := &from.Outputs[i]
		if o := requested(r, t.Name); o != nil && o.Classification > 0 {
			top, err := classes.Of(t, int(o.Classification), m.Config().GetMaxBatchSize() > 0, m.Labels(t.Name))
			if err != nil {
				return nil, err
			}
			t.Data.Release()
			*t = *top
		}
		data := make([]byte, t.Data.Len())
		t.Data.CopyTo(data)
		to.Outputs = append(to.Outputs, client.Tensor{Name: t.Name, Datatype: t.DataType.String(), Shape: append([]int64(nil), t.Shape...), Data: data})
	}
	return to, nil
}

func requested(r *infer.Request, output string) *kserve.RequestedOutput {
	for i := range r.Outputs {
		if r.Outputs[i].Name == output {
			return &r.Outputs[i]
		}
	}
	return nil
}
