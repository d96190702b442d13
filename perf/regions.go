package perf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// regions are the registered regions of the requests of a batch size.
type regions struct {
	*sharing
	signature data.Signature
	batch     int
	variable  uint64 // bytes of an item of an output whose size varies
	perStep   bool   // each step has outputs of its own
	list      []*region
	taken     map[string]bool // names of regions
	outputs   map[outputKey]*region
}

// outputKey identifies the region of an output. All steps have the same region unless
// regions.perStep is set.
type outputKey struct {
	name         string
	stream, step int
}

// region is a registered region.
type region struct {
	name  string
	block block
}

// regions returns an empty set of regions for a batch size, nil without shared memory. Requests
// in flight share the region of an output, unless outputs are compared with those of different
// steps.
func (r *run) regions(batch int) *regions {
	if r.sharing == nil {
		return nil
	}
	return &regions{
		sharing: r.sharing, signature: r.set.Signature, batch: batch, variable: uint64(r.settings.OutputMemory),
		perStep: r.set.HasExpected(), taken: map[string]bool{}, outputs: map[outputKey]*region{},
	}
}

// prepare puts the inputs of the request for a step into regions, which the encoded request
// refers to.
func (g *regions) prepare(ctx context.Context, req *kserve.Request, stream, step int, sequence bool) (*lane.Prepared, error) {
	var at lane.Regions
	if len(req.Inputs) < len(g.signature.Inputs) {
		return nil, errors.New("Shared memory support in Perf Analyzer does not support optional inputs at this time")
	}
	for i := range req.Inputs {
		t := &req.Inputs[i]
		slice, err := g.input(ctx, t, stepName(t.Name, stream, step))
		if err != nil {
			return nil, err
		}
		at.Inputs = append(at.Inputs, slice)
	}
	for _, out := range g.signature.Outputs {
		slice, err := g.output(ctx, out, stream, step)
		if err != nil {
			return nil, err
		}
		at.Outputs = append(at.Outputs, slice)
	}
	return g.target.PrepareShared(req, at, sequence)
}

// regionName returns the part of a region's name that perf_analyzer uses: the name of the tensor
// without slashes.
func regionName(t string) string { return strings.NewReplacer("/", "", `\`, "").Replace(t) }

func stepName(t string, stream, step int) string {
	return regionName(t) + "_" + strconv.Itoa(stream) + "_" + strconv.Itoa(step)
}

// input copies an input to a region. An input without bytes stays in the request.
func (g *regions) input(ctx context.Context, t *kserve.Tensor, name string) (kserve.RegionSlice, error) {
	size := uint64(t.Data.Len())
	if size == 0 {
		return kserve.RegionSlice{}, nil
	}
	n, err := g.add(ctx, name, size)
	if err != nil {
		return kserve.RegionSlice{}, err
	}
	offset := uint64(0)
	for i := range t.Data.Segments() {
		b := t.Data.Segment(i).Bytes()
		if err := n.block.Write(b, offset); err != nil {
			return kserve.RegionSlice{}, fmt.Errorf("Failed to copy data to shared memory for %s : %w", n.name, err)
		}
		offset += uint64(len(b))
	}
	return kserve.RegionSlice{Region: n.name, Size: size}, nil
}

// output returns the region of an output.
func (g *regions) output(ctx context.Context, out data.Tensor, stream, step int) (kserve.RegionSlice, error) {
	item, err := g.itemSize(out)
	if err != nil {
		return kserve.RegionSlice{}, err
	}
	size := item * uint64(g.batch)
	if size == 0 {
		return kserve.RegionSlice{}, nil
	}
	key := g.key(out.Name, stream, step)
	n := g.outputs[key]
	if n == nil {
		name := regionName(out.Name)
		if g.perStep {
			name = stepName(out.Name, stream, step) + "_out"
		}
		if n, err = g.add(ctx, name, size); err != nil {
			return kserve.RegionSlice{}, err
		}
		g.outputs[key] = n
	}
	return kserve.RegionSlice{Region: n.name, Size: size}, nil
}

func (g *regions) key(name string, stream, step int) outputKey {
	if g.perStep {
		return outputKey{name, stream, step}
	}
	return outputKey{name: name}
}

// itemSize returns the bytes of one item of an output.
func (g *regions) itemSize(out data.Tensor) (uint64, error) {
	fixed := out.DataType != tensor.Bytes && !slices.ContainsFunc(out.Shape, func(d int64) bool { return d < 0 })
	if fixed {
		n, err := out.Shape.ByteSize(out.DataType)
		return uint64(n), err
	}
	if g.variable == 0 {
		return 0, fmt.Errorf("the size of output %s varies: its shared memory must not be of 0 bytes", out.Name)
	}
	return g.variable, nil
}

// add allocates and registers a region. Tensors whose names differ only in slashes get different
// regions.
func (g *regions) add(ctx context.Context, name string, size uint64) (*region, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := outlast(ctx, endTime)
	defer cancel()
	n := &region{name: g.space.Name(name)}
	for i := 2; g.taken[n.name]; i++ {
		n.name = g.space.Name(name + "_" + strconv.Itoa(i))
	}
	g.taken[n.name] = true
	var register func() error
	if g.kind == CUDAMemory {
		b, err := allocateOnGPU(g.gpu, size)
		if err != nil {
			return nil, err
		}
		n.block = b
		register = func() error {
			return g.target.RegisterCUDAMemory(ctx, client.CUDARegion{Name: n.name, Handle: b.Handle[:], Device: gpuDevice, Size: size})
		}
	} else {
		b, err := g.space.Create(n.name, size)
		if err != nil {
			return nil, err
		}
		n.block = b
		register = func() error {
			return g.target.RegisterSystemMemory(ctx, client.SystemRegion{Name: n.name, Key: b.Key(), Size: size})
		}
	}
	g.list = append(g.list, n)
	if err := register(); err != nil {
		return nil, fmt.Errorf("register shared memory region '%s': %w", n.name, err)
	}
	if g.kind == SystemMemory && !g.tidy { // the server sees the objects of this machine
		g.tidy = true
		if err := g.removeAbandoned(ctx); err != nil {
			return nil, fmt.Errorf("free the shared memory of an earlier run: %w", err)
		}
	}
	return n, nil
}

// fill reads the outputs of a response from their regions.
func (g *regions) fill(resp *kserve.Response, stream, step int) error {
	if g == nil {
		return nil
	}
	for i := range resp.Outputs {
		t := &resp.Outputs[i]
		n := g.outputs[g.key(t.Name, stream, step)]
		if n == nil {
			continue
		}
		b, err := n.read(t)
		if err != nil {
			return fmt.Errorf("output '%s' in shared memory: %w", t.Name, err)
		}
		t.Data.Release()
		t.Data = tensor.NewData(tensor.HeapBuffer(b))
	}
	return nil
}

// read returns the bytes of a tensor, whose shape says how many there are.
func (n *region) read(t *kserve.Tensor) ([]byte, error) {
	size := n.block.Size()
	if t.DataType != tensor.Bytes {
		own, err := t.Shape.ByteSize(t.DataType)
		if err != nil {
			return nil, err
		}
		size = uint64(own)
	}
	b := make([]byte, min(size, n.block.Size()))
	if err := n.block.Read(b, 0); err != nil {
		return nil, err
	}
	if t.DataType != tensor.Bytes {
		return b, nil
	}
	count, err := t.Shape.Elements()
	if err != nil {
		return nil, err
	}
	end := 0
	for s, err := range tensor.Elements(b) {
		if count == 0 || err != nil {
			break
		}
		end += 4 + len(s)
		count--
	}
	return b[:end], nil
}

// endTime bounds each call that an interrupt has to wait for.
const endTime = 5 * time.Second

// outlast returns a context that ends a while after ctx. A registration that is cut off may reach the server
// after the call that unregisters the region.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// close unregisters and frees the regions.
func (g *regions) close(ctx context.Context) error {
	if g == nil {
		return nil
	}
	unregister := g.target.UnregisterSystemMemory
	if g.kind == CUDAMemory {
		unregister = g.target.UnregisterCUDAMemory
	}
	var failed error
	for _, n := range g.list {
		if failed == nil { // a server that is away would make each call wait
			failed = bounded(ctx, func(ctx context.Context) error { return unregister(ctx, n.name) })
		}
		failed = errors.Join(failed, n.block.Close())
	}
	g.list = nil
	return failed
}

// bounded makes a call that does not end with ctx.
func bounded(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	return call(ctx)
}
