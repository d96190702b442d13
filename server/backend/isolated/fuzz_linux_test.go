package isolated

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/backend/isolated/host"
	"triton/server/infer"
)

// frame is a frame of a child in the input of FuzzFrames: its type, the length of its body in two
// bytes, and the body.
func frame(kind uint8, build func(m *child.Message)) []byte {
	var m child.Message
	build(m.Begin(kind))
	b := append([]byte{kind}, binary.LittleEndian.AppendUint16(nil, uint16(len(m.Body())))...)
	return append(b, m.Body()...)
}

// metricFrame is a frame about metrics, whose family has number 1 like they themselves.
func metricFrame(kind uint8, build func(m *child.Message)) []byte {
	return frame(host.Metric, func(m *child.Message) {
		m.Uint8(kind)
		m.Uint32(1)
		build(m)
	})
}

// TestUnknownMetricFrame: the child is of another version, or broken.
func TestUnknownMetricFrame(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{
		metricFrame(host.MetricDrop+1, func(*child.Message) {}),
		metricFrame(host.MetricChange, func(m *child.Message) { m.Uint8(uint8(backend.MetricObserve) + 1); m.Uint64(0) }),
	} {
		s := &session{log: childLog{log: slog.New(slog.DiscardHandler)}}
		require.ErrorIs(t, s.handle(nil, child.Frame{Kind: b[0], Body: b[3:]}), child.ErrFrame)
	}
}

// FuzzFrames: whatever a child sends, nothing of the server panics, no request is answered twice,
// each is finished once, and all memory comes back.
func FuzzFrames(f *testing.F) {
	result := func(flags uint8) []byte {
		return frame(host.Result, func(m *child.Message) {
			m.Uint32(1)
			m.Uint64(5)
			m.Uint64(7)
			host.PutError(m, nil)
			m.Uint32(2)
			for range 2 {
				m.Uint8(flags)
				m.Uint32(0)
				if flags&host.Answered != 0 {
					host.PutResponse(m, &infer.Response{Response: kserve.Response{Outputs: []kserve.Tensor{
						{Name: "OUT", DataType: tensor.Int8, Shape: tensor.Shape{3}, Data: tensor.NewData(tensor.HeapBuffer([]byte("abc")))},
					}}}, places{})
				}
			}
			m.Uint32(0)
		})
	}
	letGo := frame(host.LetGo, func(m *child.Message) { m.Uint64(1); m.Uint32(0) })
	final := frame(host.Respond, func(m *child.Message) { m.Uint64(1); m.Uint8(1); host.PutResponse(m, nil, places{}); m.Uint32(0) })
	reserve := frame(host.Reserve, func(m *child.Message) { m.Uint32(1); m.Uint64(100) })
	placed := frame(host.Respond, func(m *child.Message) {
		m.Uint64(1)
		m.Uint8(0)
		big := tensor.NewData(tensor.HeapBuffer(make([]byte, child.InlineBytes+1)))
		host.PutResponse(m, &infer.Response{Response: kserve.Response{Outputs: []kserve.Tensor{{Name: "OUT", DataType: tensor.Int8, Shape: tensor.Shape{child.InlineBytes + 1}, Data: big}}}}, places{})
		m.Uint32(0)
	})
	release := frame(host.Release, func(m *child.Message) { m.Uint32(2); m.Uint32(1); m.Uint32(2) })
	state := frame(host.State, func(m *child.Message) {
		m.Uint64(2)
		_ = host.PutTensor(m, &kserve.Tensor{Name: "S", DataType: tensor.Int8, Shape: tensor.Shape{1}, Data: tensor.NewData(tensor.HeapBuffer([]byte("a")))}, places{})
	})
	broken := frame(host.Broken, func(m *child.Message) { m.Uint32(1); host.PutError(m, errors.New("broken")) })
	family := metricFrame(host.MetricFamily, func(m *child.Message) { m.String("sizes"); m.String("Sizes."); m.Uint8(uint8(backend.Histogram)) })
	sizes := metricFrame(host.MetricNew, func(m *child.Message) {
		m.Uint32(1)
		m.Uint32(1)
		m.String("where")
		m.String("here")
		m.Uint32(1)
		m.Uint64(math.Float64bits(2))
	})
	observed := metricFrame(host.MetricChange, func(m *child.Message) { m.Uint8(uint8(backend.MetricObserve)); m.Uint64(math.Float64bits(1)) })
	drop := metricFrame(host.MetricDrop, func(*child.Message) {})
	for _, decoupled := range []bool{false, true} {
		for _, frames := range [][][]byte{
			{result(host.Answered)},
			{result(host.Answered), result(host.Answered)},
			{result(host.Answered | host.Kept), letGo, letGo},
			{result(host.Kept), final, letGo},
			{letGo, result(host.Kept)}, // of a request that nobody keeps
			{result(host.Kept), letGo}, // of one that is not answered
			{result(host.Kept | host.Rescheduled), letGo},
			{final, result(host.Answered | host.Repeated)},
			{reserve, placed, release, placed, result(0)},
			{state, broken, result(host.Rescheduled)},
			{family, observed, sizes, observed, drop, sizes, observed, family},
			{frame(host.Log, func(m *child.Message) { m.Uint64(0); m.String("text"); m.Uint32(1); m.String("k"); m.String("v") })},
		} {
			var all []byte
			for _, b := range frames {
				all = append(all, b...)
			}
			f.Add(decoupled, all)
		}
	}
	source, err := tensor.NewMemfd()
	if err != nil {
		f.Skip(err)
	}
	process, err := child.Start(child.Spec{Path: "/bin/sleep", Args: []string{"3600"}}) // gets what is sent
	require.NoError(f, err)
	f.Cleanup(func() { process.Kill(); process.Exit() })
	f.Fuzz(func(t *testing.T, decoupled bool, frames []byte) {
		pool := tensor.NewPoolOf(tensor.PoolOptions{Source: source})
		hostile(t, process, pool, decoupled, frames)
		require.Zero(t, pool.Outstanding(), "pieces of memory")
	})
}

// places are those of a child whose outputs are all in block 1.
type places struct{}

func (places) Place(d *tensor.Data) (host.Place, error) {
	return host.Place{Block: 1, Lease: 3, Size: uint64(d.Len())}, nil
}

func (places) Copied(int) {}

// fate is what becomes of a request. It is its sink, and the core that lends it to a backend.
type fate struct {
	t               *testing.T
	finals, endings int
}

func (e *fate) Send(resp *infer.Response, final bool) {
	if resp != nil {
		resp.Release()
	}
	require.Zero(e.t, e.finals, "a response after the final one")
	if final {
		e.finals++
	}
}

func (*fate) Kept(*infer.Request)                      {}
func (*fate) Responded(*infer.Request, infer.Delivery) {}
func (*fate) Completed(*infer.Request, error)          {}

func (e *fate) Finished(r *infer.Request) {
	e.endings++
	r.ReleaseInputs()
	r.Release() // the backend's reference
	r.Release() // the core's
}

// returned does what the core does with a request after the call of a backend.
func (e *fate) returned(r *infer.Request, err error) {
	switch {
	case r.Rescheduled() && err == nil:
	case r.IsKept() && err != nil:
		r.Revoke(err)
	case !r.IsKept() && r.State() != infer.Answered:
		r.Fail(errors.New("no answer"))
	}
	switch {
	case r.Rescheduled():
		if r.IsKept() {
			r.Suspend()
		}
	case r.IsKept():
		r.Deliver()
		if r.Returned() {
			e.Finished(r)
		}
		return
	default:
		r.Deliver()
	}
	e.endings++
	r.Release()
}

var errGone = errors.New("the child has ended")

// hostile runs a batch of two requests in a child that sends frames and then ends.
func hostile(t *testing.T, process *child.Process, pool *tensor.Pool, decoupled bool, frames []byte) {
	t.Helper()
	s := &session{
		name: "m", spec: backend.Spec{Metrics: backend.NewMetrics(nil)}, memory: &child.Memory{Pool: pool}, pool: pool, process: process, decoupled: decoupled, err: errGone,
		ended: make(chan struct{}), total: &granted{}, log: childLog{log: slog.New(slog.DiscardHandler), model: "m"},
	}
	close(s.ended) // nothing waits for the end of the process
	s.timer = time.AfterFunc(time.Hour, func() {})
	defer s.timer.Stop()
	s.mu.questions, s.mu.instances, s.mu.open = map[uint32]chan answer{}, map[uint32]*instance{}, map[uint64]openRequest{}
	s.mu.granted = map[uint32]int64{}
	s.mu.applied = sync.NewCond(&s.mu)
	in := s.addInstance(&model{backend: &isolated{}}, "m_0")
	b, fates := &infer.Batch{}, []*fate{{t: t}, {t: t}}
	for _, e := range fates {
		r := infer.NewRequest()
		r.Sink, r.Pool, r.ModelName, r.Log = e, pool, "m", slog.New(slog.DiscardHandler)
		r.Move(infer.Decoded, infer.Executing)
		r.Lend(e, decoupled)
		b.Add(r)
	}
	first := s.open(in, b.Requests)
	in.runs.Add(1)
	running := true
	returned := func(err error) {
		running = false
		in.runs.Add(1)
		if err != nil {
			s.discard(first, len(b.Requests))
		}
		for i, r := range b.Requests {
			fates[i].returned(r, err)
		}
	}
	var err error
	for err == nil && len(frames) >= 3 {
		n := min(int(binary.LittleEndian.Uint16(frames[1:])), len(frames)-3)
		err = s.handle(process, child.Frame{Kind: frames[0], Body: frames[3 : 3+n]})
		frames = frames[3+n:]
		s.watch()
		select {
		case <-in.results:
			returned(in.apply(b, first, infer.Now()))
		default:
		}
	}
	s.blocks.Free()
	s.spec.Metrics.Gather()
	s.metrics.Release()
	require.Empty(t, s.spec.Metrics.Gather())
	s.mu.Lock()
	s.mu.ended = true
	s.mu.Unlock()
	if running {
		returned(errGone)
	}
	s.failKept(errGone)
	s.abandon(in)
	for i, r := range b.Requests {
		e, rescheduled := fates[i], r.Rescheduled()
		if r.IsKept() && !rescheduled && r.Reclaim() {
			e.Finished(r)
		}
		require.Equal(t, 1, e.endings)
		require.Equal(t, !rescheduled, e.finals == 1)
		r.Release() // the frontend's reference
	}
}
