package builtin

import (
	"context"
	"encoding/binary"
	"sync"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// decoupled is what the engines have in common that answer any number of times:
// each request is answered by a goroutine of its own.
type decoupled struct {
	policy  bool // the configuration says decoupled too
	life    context.Context
	end     context.CancelFunc
	answers sync.WaitGroup
}

func newDecoupled(cfg *inferencepb.ModelConfig) *decoupled {
	d := &decoupled{policy: cfg.GetModelTransactionPolicy().GetDecoupled()}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

// answer runs f, which owes r its final response.
func (d *decoupled) answer(r *infer.Request, f func()) {
	if !d.policy { // settle waits
		d.answers.Go(f)
		return
	}
	r.Keep()
	d.answers.Go(func() {
		defer r.LetGo()
		f()
	})
}

// wait ends a call of Execute: without the policy everything is to be
// answered by then.
func (d *decoupled) wait() {
	if !d.policy {
		d.answers.Wait()
	}
}

// Close waits for the goroutines; the core has their answers.
func (d *decoupled) Close() error {
	d.end()
	d.answers.Wait()
	return nil
}

// numbers reads a tensor of 32-bit numbers; none when it is absent.
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
