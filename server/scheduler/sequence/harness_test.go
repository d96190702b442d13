package sequence_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a model with sequences and a backend that takes a fixed time for a batch and
// records what it ran.
type harness struct {
	t      *testing.T
	cfg    *inferencepb.ModelConfig
	opts   sequence.Options
	source *sequence.Source
	group  *instance.Group
	pool   *tensor.Pool
	stats  *stats.Model
	begin  time.Time
	exec   time.Duration
	// run is called instead of sleeping.
	run func(ctx context.Context, b *infer.Batch) error

	model *backendtest.Model
	mu    struct {
		sync.Mutex
		sinks  map[string]*infertest.Sink // by ID of the request
		logged []string
	}
}

// play runs a script in a bubble of virtual time, waits until all is answered
// and checks that nothing is left.
func play(t *testing.T, cfg *inferencepb.ModelConfig, script func(s *harness), change ...func(*harness)) *harness {
	t.Helper()
	s := &harness{t: t, cfg: cfg, pool: tensor.NewPool()}
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		s.start(change)
		script(s)
		s.drain()
	})
	return s
}

func (s *harness) start(change []func(*harness)) {
	s.mu.sinks = map[string]*infertest.Sink{}
	s.model = &backendtest.Model{Begin: time.Now(), Own: true, Run: s.execute}
	s.cfg.Name = "m"
	s.stats = stats.NewModel("m", "1", int(s.cfg.GetMaxBatchSize()))
	s.opts = sequence.Options{Config: s.cfg, Slots: 1, Stats: s.stats, Log: slog.New(slog.NewTextHandler(s, nil)), Pool: s.pool}
	for _, c := range change {
		c(s)
	}
	if c := s.cfg.GetSequenceBatching(); c.MaxSequenceIdleMicroseconds == 0 {
		c.MaxSequenceIdleMicroseconds = uint64(time.Hour.Microseconds())
	}
	var o instance.Options
	o.Name, o.Version, o.Config, o.Model, o.Stats, o.Log = "m", "1", s.cfg, s.model, s.stats, s.opts.Log
	o.Placements = make([]backend.Placement, s.opts.Slots)
	for i := range o.Placements {
		o.Placements[i].Name = fmt.Sprintf("m_0_%d", i)
	}
	var err error
	s.source, o.Slots, err = sequence.New(s.opts)
	require.NoError(s.t, err)
	o.Source = s.source
	s.group = instance.New(o)
	require.NoError(s.t, s.group.Start(context.Background()))
	s.begin = time.Now()
}

// Write takes the log.
func (s *harness) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.logged = append(s.mu.logged, string(p))
	return len(p), nil
}

func (s *harness) drain() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	require.NoError(s.t, s.group.Drain(ctx))
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.mu.sinks {
		require.Equal(s.t, 1, k.Ends(), id)
	}
	require.Zero(s.t, s.stats.Pending.Load())
	require.Zero(s.t, s.source.SlotsInUse())
	require.Zero(s.t, s.pool.Outstanding())
}

// at waits until that many milliseconds after the beginning.
func (s *harness) at(ms int) {
	time.Sleep(time.Until(s.begin.Add(time.Duration(ms) * time.Millisecond)))
	synctest.Wait()
}

// request is one of sequence A with the text "A1": START when it begins with
// "(", END when it ends with ")". The sequence A has the number 65.
func (s *harness) request(text string) *infer.Request {
	r := infer.NewUnpooled()
	text, r.SequenceStart = strings.CutPrefix(text, "(")
	text, r.SequenceEnd = strings.CutSuffix(text, ")")
	r.ID, r.ModelName = text, "m"
	r.SequenceID = uint64(text[0])
	if s.cfg.GetMaxBatchSize() > 0 {
		r.Batch = 1
	}
	s.input(r, 1)
	return r
}

// input gives a request its one input.
func (s *harness) input(r *infer.Request, width int64) {
	if len(r.Inputs) == 0 {
		r.AddInput()
	}
	in := &r.Inputs[0]
	in.Data.Release()
	in.Name, in.DataType, in.Shape = "IN", tensor.Uint8, tensor.Shape{int64(r.Batch), width}
	in.Data = tensor.NewData(s.pool.Get(int(width)))
}

// send submits requests one after the other: "(A1 A2 A3) (B1)".
func (s *harness) send(texts string, change ...func(*infer.Request)) {
	s.t.Helper()
	for text := range strings.FieldsSeq(texts) {
		r := s.request(text)
		for _, c := range change {
			c(r)
		}
		require.NoError(s.t, s.submit(r), text)
	}
}

func (s *harness) submit(r *infer.Request) error {
	id := r.ID
	r.Sink = s.sink(id)
	err := s.group.Submit(r)
	if err != nil {
		r.Release()
		s.mu.Lock()
		delete(s.mu.sinks, id)
		s.mu.Unlock()
	}
	r.Release()
	return err
}

// sink returns the sink of a request.
func (s *harness) sink(id string) *infertest.Sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotContains(s.t, s.mu.sinks, id)
	k := infertest.NewSink()
	s.mu.sinks[id] = k
	return k
}

// answer returns the answer to a request and its time, "" before it.
func (s *harness) answer(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.mu.sinks[id]; k != nil && k.Ends() > 0 {
		all := k.Events()
		return fmt.Sprintf("%d: %s", all[len(all)-1].At.Sub(s.begin).Milliseconds(), s.outcome(id))
	}
	return ""
}

// outcome returns "ok" or the error of a request that was answered.
func (s *harness) outcome(id string) string {
	if err := s.mu.sinks[id].Err(); err != nil {
		return err.Error()
	}
	return "ok"
}

// sizes is batch_stats, as "{2:4,1:1}" in ascending order.
func (s *harness) sizes() string {
	counts := map[int]int{}
	for _, b := range s.batches() {
		counts[len(strings.Fields(b))-1]++
	}
	var all []string
	for n := range 100 {
		if counts[n] > 0 {
			all = append(all, fmt.Sprintf("%d:%d", n, counts[n]))
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

// batches returns the executions, "<ms>: A1 - C1".
func (s *harness) batches() []string { return s.model.Members() }

// ran is the batches without their times.
func (s *harness) ran() []string {
	all := s.batches()
	for i := range all {
		_, all[i], _ = strings.Cut(all[i], ": ")
	}
	return all
}

func (s *harness) execute(ctx context.Context, b *infer.Batch) error {
	if s.run != nil {
		return s.run(ctx, b)
	}
	time.Sleep(s.exec)
	for _, r := range b.Requests {
		if !r.Membership.Null {
			r.Respond(infer.NewResponse(), true)
		}
	}
	return nil
}
