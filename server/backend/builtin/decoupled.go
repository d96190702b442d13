package builtin

import (
	"context"
	"encoding/binary"
	"sync"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// decoupled is shared by the backends that send any number of responses. Each request
// is answered by a goroutine of its own.
type decoupled struct {
	policy  bool // the configuration is decoupled
	life    context.Context
	end     context.CancelFunc
	answers sync.WaitGroup
}

func newDecoupled(cfg *inferencepb.ModelConfig) *decoupled {
	d := &decoupled{policy: cfg.Decoupled()}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

// answer runs f, which sends the final response to r.
func (d *decoupled) answer(r *infer.Request, f func()) {
	if !d.policy { // wait waits
		d.answers.Go(f)
		return
	}
	r.Keep()
	d.answers.Go(func() {
		defer r.LetGo()
		f()
	})
}

// wait is called at the end of Execute. Without the decoupled policy all requests must
// be answered by then.
func (d *decoupled) wait() {
	if !d.policy {
		d.answers.Wait()
	}
}

// Close waits for the goroutines.
func (d *decoupled) Close() error {
	d.end()
	d.answers.Wait()
	return nil
}

// numbers returns the elements of a tensor of 32-bit numbers; none if it is absent.
func numbers(r *infer.Request, name string) ([]uint32, tensor.Shape) {
	t := r.Input(name)
	if t == nil {
		return nil, nil
	}
	mem := make([]byte, t.Data.Len())
	t.Data.CopyTo(mem)
	all := make([]uint32, len(mem)/4)
	for i := range all {
		all[i] = binary.NativeEndian.Uint32(mem[4*i:])
	}
	return all, t.Shape
}
