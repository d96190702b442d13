package local

import (
	"triton/pkg/client"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// request converts a request. The caller releases it twice on an error, and else once; a model
// takes the other reference. Inputs are copied into memory of the server, so the caller may
// change its own when the call has returned, even if a model still runs.
func (s *Server) request(from *client.Request) (*infer.Request, error) {
	r := infer.NewRequest()
	r.ModelName, r.ModelVersion, r.ID = from.Model, from.Version, from.ID
	r.Priority, r.TimeoutMicros, r.EmptyFinal = from.Priority, uint64(max(from.Timeout, 0).Microseconds()), from.EmptyFinal
	if q := from.Sequence; q.ID != 0 || q.Text != "" {
		r.SequenceID, r.SequenceStart, r.SequenceEnd = q.ID, q.Start, q.End
		if q.Text != "" {
			if err := r.SetSequenceText(q.Text); err != nil {
				return r, err
			}
		}
	}
	for name, value := range from.Parameters {
		p, err := kserve.NewParameter(name, value)
		if err != nil {
			return r, err
		}
		r.Parameters = append(r.Parameters, p)
	}
	for i := range from.Inputs {
		if err := s.input(r.AddInput(), &from.Inputs[i]); err != nil {
			return r, err
		}
	}
	for _, o := range from.Outputs {
		if err := s.output(&r.Request, o); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (s *Server) input(to *kserve.Tensor, from *client.Tensor) error {
	kind, ok := tensor.ParseDataType(from.Datatype)
	if !ok {
		return status.New(status.InvalidArg, "input '%s' has the unknown data type '%s'", from.Name, from.Datatype)
	}
	to.Name, to.DataType, to.Shape = from.Name, kind, append(to.Shape[:0], from.Shape...)
	if at := from.Region; at.Name != "" {
		return slice(at).Lend(to, s.regions, s.pool)
	}
	if len(from.Data) == 0 {
		return nil
	}
	b, err := s.pool.TryGet(len(from.Data))
	if err != nil {
		return status.New(status.Unavailable, "no memory for input '%s': %w", from.Name, err)
	}
	copy(b.Bytes(), from.Data)
	to.Data = tensor.NewData(b)
	return nil
}

func (s *Server) output(r *kserve.Request, from client.RequestedOutput) (err error) {
	o := kserve.RequestedOutput{Name: from.Name, Binary: true, Classification: uint32(max(from.Classes, 0))}
	if from.Region.Name != "" {
		if from.Classes > 0 {
			return status.New(status.InvalidArg, "output '%s' cannot be both in shared memory and classified", from.Name)
		}
		if o.Into, err = slice(from.Region).Find(s.regions); err != nil {
			return err
		}
	}
	r.Outputs = append(r.Outputs, o)
	return nil
}

func slice(r client.Region) kserve.RegionSlice {
	return kserve.RegionSlice{Region: r.Name, Offset: r.Offset, Size: r.Size}
}
