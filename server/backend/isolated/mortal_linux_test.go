package isolated_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// mortals are backends that end their process on demand.
var mortals = backend.Set{"mortal": mortal{}}

// mortal is an identity whose instances do what the ID of a request says. A parameter "load"
// is done by the load, and "complete" by AutoComplete.
type mortal struct{}

func (mortal) AutoComplete(_ context.Context, spec backend.Spec) error {
	spec.Config.Output = append(spec.Config.Output, &inferencepb.ModelOutput{Name: "COMPLETED"})
	do(spec.Config.GetParameters()["complete"].GetStringValue(), nil)
	return nil
}

func (mortal) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	do(spec.Config.GetParameters()["load"].GetStringValue(), nil)
	spec.Log.Info("loaded", "pid", os.Getpid())
	return &mortalModel{log: spec.Log}, nil
}

type mortalModel struct {
	log  *slog.Logger
	kept [][]byte
}

func (m *mortalModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return m, nil
}

func (*mortalModel) Close() error { return nil }

func (m *mortalModel) Execute(ctx context.Context, b *infer.Batch) error {
	for _, r := range b.Requests {
		switch what, _, _ := strings.Cut(r.ID, " "); what {
		case "until-interrupted":
			m.log.Info("waits")
			<-ctx.Done()
			return backend.Interrupted(ctx)
		case "until-cancelled":
			for !r.Cancelled() {
				time.Sleep(time.Millisecond)
			}
			r.Fail(backend.Interrupted(ctx))
			return nil
		case "eat":
			for { // until the limit of memory
				page := make([]byte, 64<<20)
				for i := 0; i < len(page); i += 4096 {
					page[i] = 1
				}
				m.kept = append(m.kept, page)
			}
		}
		mem, _ := r.Inputs[0].Data.Contiguous()
		do(r.ID, mem)
		resp := infer.NewResponse()
		t := &r.Inputs[0]
		data := t.Data.Clone()
		if r.ID == "copy" { // into memory of the child
			data.Release()
			to, err := r.Pool.TryGet(t.Data.Len())
			if err != nil {
				r.Fail(err)
				resp.Release()
				return nil
			}
			t.Data.CopyTo(to.Bytes())
			data = tensor.NewData(to)
		}
		resp.Add("OUTPUT0", t.DataType, t.Shape, data)
		r.Respond(resp, true)
	}
	return nil
}

// do ends the process in the manner of a word.
func do(what string, input []byte) {
	switch what {
	case "segv":
		at := uintptr(1) << 40
		**(**byte)(unsafe.Pointer(&at)) = 1
	case "write-input":
		input[0] = 1
	case "panic":
		panic("mortal")
	case "goroutine-panic":
		go panic("of a goroutine")
		select {}
	case "abort":
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
		select {}
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "exit":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
	case "loop":
		for n := 0; ; n++ {
			if n < 0 {
				return
			}
		}
	}
}
