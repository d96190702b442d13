package server_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
	"triton/server"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/servertest"
)

// refused reports whether an answer is the error that reports missing memory.
func refused(answer string) bool { return strings.Contains(answer, tensortest.ErrRefused.Error()) }

// TestSameAnswersOrNoMemory is TestSameAnswers with memory that runs out now and then: every
// answer is right or the error that reports missing memory, and once memory is available again
// every request is answered.
func TestSameAnswersOrNoMemory(t *testing.T) {
	t.Parallel()
	lib, _ := filepath.Glob(filepath.Join("..", "lib", "libonnxruntime*"))
	if len(lib) == 0 && os.Getenv("TRITON_ONNXRUNTIME_LIBRARY") == "" {
		t.Skip("ONNX Runtime is not in lib/: run `make onnxruntime`")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	talk := conversations(rand.New(rand.NewPCG(seed, 0)), 60)
	for _, v := range variants {
		switch v.name {
		case "three instances", "batching with a delay", "a response cache", "equal requests are one":
		default:
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			m := tensortest.New(nil)
			v.flags = append(v.flags[:len(v.flags):len(v.flags)], servertest.With(func(o *server.Options) { o.Pool = m.Pool }))
			s := v.start(t)
			alone := inCore(s)
			var want []string
			for _, c := range talk {
				want = append(want, plainID(c.as(7), c.as(7).ask(t, alone)))
			}
			all := transports(t, s)
			m.Refuse(tensortest.Sometimes(seed, 0.05))
			var clients sync.WaitGroup
			n := uint64(0)
			for name, ask := range all {
				n++
				client := n
				clients.Go(func() {
					rng := rand.New(rand.NewPCG(seed, client))
					for _, i := range rng.Perm(len(talk)) {
						c := talk[i].as(1 + client<<16 + rng.Uint64N(1<<16))
						if got, ok := c.insist(t, ask); ok && plainID(c, got) != want[i] {
							t.Errorf("seed %d, conversation %d over %s:\n%s\ngot  %s\nwant %s", seed, i, name, c, got, want[i])
							return
						}
					}
				})
			}
			clients.Wait()
			require.Positive(t, m.Refused())
			m.Refuse(nil)
			for i, c := range talk {
				require.Equal(t, want[i], plainID(c.as(7), c.as(7).ask(t, alone)), "seed %d, afterwards", seed)
			}
		})
	}
}

// insist sends all questions. After one that got no memory, the other answers of a sequence do
// not count, but its last request must be answered.
func (c conversation) insist(t *testing.T, ask asker) (answers []string, ok bool) {
	ok = true
	for _, q := range c {
		a := ask(t, q)
		for refused(a) {
			if ok = false; q.position == nil || !q.position.end {
				break
			}
			a = ask(t, q)
		}
		answers = append(answers, a)
	}
	return answers, ok
}

// TestStressWithoutMemory is TestStress with memory that runs out now and then,
// also while models are loaded.
func TestStressWithoutMemory(t *testing.T) {
	m := tensortest.New(nil)
	x := newStress(t, 700*time.Millisecond, func(o *server.Options) { o.Pool = m.Pool })
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m.Refuse(tensortest.Sometimes(seed, 0.03))
	x.scarce = true
	x.run(t)
	require.Positive(t, m.Refused())
	m.Refuse(nil)
}

// gathered is a backend that copies a batch into one buffer and answers with
// parts of another.
type gathered struct{}

func (gathered) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	return gatheredModel{spec}, nil
}

type gatheredModel struct{ spec backend.Spec }

func (gatheredModel) Close() error { return nil }

func (m gatheredModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	sig := backend.NewFullSignature(m.spec.Config)
	return &gatheredInstance{backend.NewGather(sig, m.spec.Pool), backend.NewScatter(sig)}, nil
}

type gatheredInstance struct {
	gather  *backend.Gather
	scatter *backend.Scatter
}

func (*gatheredInstance) Close() error { return nil }

func (i *gatheredInstance) Execute(_ context.Context, b *infer.Batch) error {
	if err := i.gather.Collect(b); err != nil {
		return err
	}
	defer i.gather.Release()
	in := &i.gather.Inputs[0]
	out, err := b.Alloc(infer.Output{Name: "OUTPUT0", DataType: tensor.Int32, Size: len(in.Bytes), Filled: true})
	if err != nil {
		return err
	}
	defer out.Buffer.Release()
	copy(out.Bytes(), in.Bytes)
	i.scatter.Start(b)
	i.scatter.Output(0, in.Shape, out.Buffer, out.Off, out.N)
	i.scatter.Send()
	return nil
}
