package native

import (
	"context"
	"slices"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// runner runs batches in a library. It is used by one goroutine at a time, except for Stop.
type runner interface {
	// Run computes the outputs that are wanted. The inputs are in the order of the
	// signature and are read in place. The results are in the order of the signature's
	// outputs, and valid until the next call.
	Run(rows int, inputs []backend.Gathered, wanted []bool) ([]result, error)
	// Stop makes a run that is under way end soon, if the library can.
	Stop()
	Close()
}

// result is an output in memory of the library. Strings are as in requests.
type result struct {
	Shape tensor.Shape
	Bytes []byte
}

// instance runs one batch at a time.
type instance struct {
	name    string
	limit   int // rows
	sig     *backend.Signature
	pool    *tensor.Pool
	runner  runner
	gather  *backend.Gather
	scatter *backend.Scatter
	watch   *backend.Watch
	wanted  []bool
}

var _ backend.Instance = (*instance)(nil)

// newInstance returns an instance that owns the runner.
func newInstance(spec backend.Spec, sig *backend.Signature, at backend.Placement, r runner) backend.Instance {
	return &instance{
		name: at.Name, limit: max(1, int(spec.Config.GetMaxBatchSize())), sig: sig, pool: spec.Pool, runner: r,
		gather: backend.NewGather(sig, spec.Pool), scatter: backend.NewScatter(sig), watch: backend.NewWatch(r.Stop),
		wanted: make([]bool, len(sig.Outputs)),
	}
}

// Execute runs the batch. The inputs of a batch of one are not copied; an output is copied
// once, from the library to where the client wants it.
func (i *instance) Execute(ctx context.Context, b *infer.Batch) error {
	if len(b.Requests) == 0 || b.Rows > i.limit {
		return status.New(status.Internal, "batch size %d for '%s', max allowed is %d", b.Rows, i.name, i.limit)
	}
	if err := i.gather.Collect(b); err != nil {
		return err
	}
	defer i.gather.Release()
	for k := range i.wanted {
		i.wanted[k] = i.sig.Wants(b, k)
	}
	b.InputEnd = infer.Now()
	i.watch.Begin(ctx, b)
	results, err := i.runner.Run(b.Rows, i.gather.Inputs, i.wanted)
	interrupted := i.watch.End()
	b.OutputStart = infer.Now()
	if err != nil {
		if interrupted {
			return backend.Interrupted(ctx)
		}
		return err
	}
	i.scatter.Start(b)
	for k := range results {
		if !i.wanted[k] {
			continue
		}
		if err := i.answer(b, k, results[k]); err != nil {
			i.scatter.Drop()
			return err
		}
	}
	i.scatter.Send()
	return nil
}

// answer copies an output into the responses.
func (i *instance) answer(b *infer.Batch, k int, r result) error {
	v := &i.sig.Outputs[k]
	if err := i.checkShape(v, r.Shape); err != nil {
		return err
	}
	o := infer.Output{DataType: v.DataType, Size: len(r.Bytes), Filled: true}
	if v.Role != backend.State && v.DataType != tensor.Bytes {
		o.Name = v.Name // a client could change states and the lengths of strings in its region
	}
	s, err := b.Alloc(o)
	if err != nil {
		return err
	}
	defer s.Buffer.Release()
	copy(s.Bytes(), r.Bytes)
	i.pool.CopiedToClient(s.N)
	i.scatter.Output(k, r.Shape, s.Buffer, s.Off, s.N)
	return nil
}

// checkShape compares the shape of an output with the configuration.
func (i *instance) checkShape(v *backend.Value, got tensor.Shape) error {
	want := v.BackendShape()
	row := got
	if i.sig.Batching && len(got) > 0 {
		row = got[1:]
	}
	fits := len(row) == len(want) || len(row) == 0 && slices.Equal(want, tensor.Shape{1})
	for d := range min(len(row), len(want)) {
		fits = fits && (want[d] == -1 || want[d] == row[d])
	}
	if !fits {
		return status.New(status.Internal, "output '%s' of '%s' has shape %v, the configuration lists %v", v.Name, i.name, row, want)
	}
	return nil
}

// Close ends the use of the library.
func (i *instance) Close() error {
	i.gather.Release() // after a panic in a run
	i.watch.Close()
	i.runner.Close()
	return nil
}
