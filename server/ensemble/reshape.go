package ensemble

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// lead is the number of dimensions of the ensemble's own tensors that are not
// configured: the batch.
func (g *graph) lead(shape tensor.Shape) int {
	if g.batching {
		return min(1, len(shape))
	}
	return 0
}

// enter appends to dst the shape that the steps see of an input. The request
// passed the checks against the ensemble's configuration.
func (g *graph) enter(p *port, dst, shape tensor.Shape) tensor.Shape {
	if p.outer == nil {
		return append(dst, shape...)
	}
	lead := g.lead(shape)
	return tensor.AppendReshaped(append(dst, shape[:lead]...), shape[lead:], p.outer, p.dims)
}

// leave turns the shape of an output into what clients see. Nothing has
// compared it with the configuration before, as the steps' models may leave
// dimensions open.
func (g *graph) leave(p *port, shape tensor.Shape) (tensor.Shape, error) {
	if p.outer == nil {
		return shape, nil
	}
	lead := g.lead(shape)
	if !shape[lead:].Matches(p.dims) {
		want := p.dims
		if g.batching {
			want = append(tensor.Shape{-1}, want...)
		}
		return nil, status.New(status.Internal, "unexpected shape %s of output '%s': its reshape is configured for %s", shape, p.name, want)
	}
	return tensor.AppendReshaped(shape[:lead:lead], shape[lead:], p.dims, p.outer), nil
}
