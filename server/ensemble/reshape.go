package ensemble

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// batchDims returns the number of leading dimensions that belong to the batch.
func (g *graph) batchDims(shape tensor.Shape) int {
	if g.batching {
		return min(1, len(shape))
	}
	return 0
}

// innerShape appends to dst the shape of an input inside the ensemble. The request has
// passed the checks against the ensemble's configuration.
func (g *graph) innerShape(p *port, dst, shape tensor.Shape) tensor.Shape {
	if p.outer == nil {
		return append(dst, shape...)
	}
	lead := g.batchDims(shape)
	return tensor.AppendReshaped(append(dst, shape[:lead]...), shape[lead:], p.outer, p.dims)
}

// outerShape converts the shape of an output for clients. It checks the shape, as the
// steps' models may have variable dimensions.
func (g *graph) outerShape(p *port, shape tensor.Shape) (tensor.Shape, error) {
	if p.outer == nil {
		return shape, nil
	}
	lead := g.batchDims(shape)
	if !shape[lead:].Matches(p.dims) {
		want := p.dims
		if g.batching {
			want = append(tensor.Shape{-1}, want...)
		}
		return nil, status.New(status.Internal, "unexpected shape %s of output '%s': its reshape is configured for %s", shape, p.name, want)
	}
	return tensor.AppendReshaped(shape[:lead:lead], shape[lead:], p.dims, p.outer), nil
}
