package scenario

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	rpcstatus "google.golang.org/grpc/status"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/cache"
	"triton/server/infer"
	"triton/server/ratelimit"
	"triton/server/repository"
	"triton/server/scheduler"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOurs plays every script on our server in virtual time. With -record it
// writes what is ours where there is a reason for it.
func TestOurs(t *testing.T) {
	all, err := Suites()
	require.NoError(t, err)
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			if why := pending[s.Name]; why != "" && os.Getenv("TRITON_PENDING") == "" {
				t.Skip(why)
			}
			changed := false
			for _, c := range s.Scenarios {
				t.Run(c.Name, func(t *testing.T) {
					if len(c.NVIDIA) == 0 {
						t.Fatal("NVIDIA's server has not played it")
					}
					got := ours(t, s, c)
					switch {
					case *record && len(c.Reasons) > 0:
						changed = changed || !slices.Equal(c.Ours, got)
						c.Ours = got
					case strings.Join(got, "\n") != strings.Join(c.Want(), "\n"):
						t.Errorf("%s.txt:%d: %s\n--- expected\n%s\n--- got\n%s", s.Name, c.Line, c.Name, strings.Join(c.Want(), "\n"), strings.Join(got, "\n"))
					}
				})
			}
			if changed {
				rewrite(t, s)
			}
		})
	}
}

// ours is what our server makes of a script.
func ours(t *testing.T, s *Suite, c *Scenario) (lines []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { lines = playOurs(t, s, c) })
	return lines
}

// playOurs plays one script in a bubble.
func playOurs(t *testing.T, s *Suite, c *Scenario) []string {
	t.Helper()
	engine := &recorder{}
	pool := tensor.NewPool()
	o := options(t, s, c, engine, pool)
	r := repository.New(o)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, r.Drain(ctx))
		if o.Caching.Cache != nil {
			require.NoError(t, o.Caching.Cache.Close())
		}
		if left := pool.Outstanding(); left != 0 {
			t.Errorf("%d buffers are outstanding", left)
		}
	}()
	if err := r.Start(t.Context()); err != nil {
		require.ErrorIs(t, err, repository.ErrLoad)
	}
	p := &player{Scenario: c, settle: synctest.Wait, call: func(ctx context.Context, e *Event, m *Model, reply func(string)) {
		(&visit{repository: r, pool: pool, reply: reply}).call(ctx, e, m)
	}}
	engine.begin = time.Now()
	p.play(t.Context(), t)
	time.Sleep(100 * time.Millisecond)
	rec := Record{Replies: p.replies, Runs: engine.runs}
	for i := range rec.Runs {
		rec.Runs[i].Loose = c.model(rec.Runs[i].Model).Instances() > 1
	}
	for i := range c.Models {
		m := &c.Models[i]
		if why := NotLoaded(r.Index(false), m.Name); why != "" {
			rec.Stats = append(rec.Stats, fmt.Sprintf("load %s %s", m.Name, why))
			continue
		}
		rec.Stats = append(rec.Stats, counted(t, r, m))
	}
	return rec.Lines()
}

func options(t *testing.T, s *Suite, c *Scenario, engine *recorder, pool *tensor.Pool) repository.Options {
	t.Helper()
	dir := t.TempDir()
	for _, m := range c.Models {
		require.NoError(t, m.Write(dir, "", "recorder", ""))
	}
	o := repository.Options{
		Paths: []string{dir}, Backends: backend.Set{"recorder": engine},
		LoadThreads: 1, StrictReadiness: true, CPUs: 1, Pool: pool, Log: slog.New(slog.DiscardHandler),
		ID: "triton", Version: "1", NewAlarm: scheduler.NewClock,
	}
	var resources []ratelimit.Resource
	for flag := range strings.FieldsSeq(s.Needs["flags"]) {
		switch name, value, _ := strings.Cut(flag, "="); name {
		case "--cache-config":
			o.Caching.Cache = cache.NewLocal(1<<20, pool)
		case "--rate-limit":
			o.Limiter = ratelimit.New(nil)
		case "--rate-limit-resource":
			key, count, _ := strings.Cut(value, ":")
			n, err := strconv.ParseUint(count, 10, 64)
			require.NoError(t, err)
			resources = append(resources, ratelimit.Resource{Name: key, Count: n, Device: ratelimit.AllDevices})
			o.Limiter = ratelimit.New(resources)
		default:
			t.Errorf("%s.txt: flag %s is not known", s.Name, flag)
		}
	}
	return o
}

// visit is one request to our server.
type visit struct {
	repository *repository.Repository
	pool       *tensor.Pool

	mu    sync.Mutex
	reply func(string) // nil: nobody listens any more
	ended chan struct{}
}

func (v *visit) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reply != nil {
		v.reply(text)
	}
}

// hangUp is what a client sees that does not wait any more.
func (v *visit) hangUp(ctx context.Context) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reply != nil {
		v.reply(rpcstatus.FromContextError(ctx.Err()).Code().String())
		v.reply = nil
	}
}

func (v *visit) call(ctx context.Context, e *Event, m *Model) {
	model, err := v.repository.Model(m.Name, "")
	if err != nil {
		v.fail(ctx, m, err)
		return
	}
	defer model.Release()
	r := v.request(e, m)
	defer r.Release()
	stop := context.AfterFunc(ctx, func() {
		v.hangUp(ctx)
		if m.Streams() {
			r.Cancel()
		}
	})
	defer stop()
	if m.Streams() {
		v.submit(ctx, model, r)
		return
	}
	resp, err := model.Infer(ctx, r)
	if err != nil {
		v.fail(ctx, m, err)
		return
	}
	v.say(strings.TrimSpace("OK " + written(resp)))
	resp.Release()
}

func (v *visit) fail(ctx context.Context, m *Model, err error) {
	if m.Streams() {
		v.say("error: " + err.Error())
		return
	}
	v.say(ended(ctx, status.CodeOf(err).GRPC(), err.Error()))
}

func (v *visit) submit(ctx context.Context, model infer.Model, r *infer.Request) {
	v.ended = make(chan struct{})
	r.Sink = v
	if err := model.Submit(r); err != nil {
		v.say("error: " + err.Error())
		return
	}
	<-v.ended
}

// Send takes a response of a stream.
func (v *visit) Send(resp *infer.Response, final bool) {
	switch {
	case resp == nil:
		v.say("final")
	case resp.Err != nil:
		v.say("error: " + resp.Err.Error())
	case final:
		v.say("OK " + written(resp) + " final")
	default:
		v.say("OK " + written(resp))
	}
	if resp != nil {
		resp.Release()
	}
	if final {
		close(v.ended)
	}
}

// request is what the front end makes of the message of a client.
func (v *visit) request(e *Event, m *Model) *infer.Request {
	a := &e.Asked
	r := infer.NewUnpooled()
	r.ModelName, r.ID, r.Priority = m.Name, e.Name, a.Priority
	r.SequenceStart, r.SequenceEnd, r.TimeoutMicros = a.Start, a.End, uint64(a.Timeout.Microseconds())
	if id, ok := a.Number(); ok {
		r.SequenceID = id
	} else {
		r.SequenceIDStr = a.Sequence
	}
	for _, name := range a.Inputs {
		if name == "" {
			continue
		}
		in := r.AddInput()
		in.Name, in.DataType, in.Shape = name, tensor.Int32, a.shape(m)
		data := a.data()
		b := v.pool.Get(len(data))
		copy(b.Bytes(), data)
		in.Data = tensor.NewData(b)
	}
	for _, name := range a.Outputs {
		r.Outputs = append(r.Outputs, requested(name))
	}
	return r
}

func counted(t *testing.T, r *repository.Repository, m *Model) string {
	t.Helper()
	got, err := r.Statistics(m.Name, "1")
	require.NoError(t, err)
	reasons := map[string]uint64{}
	for _, s := range r.Served() {
		if s.Name() == m.Name {
			for _, why := range stats.Failures() {
				reasons[why.String()] = s.Counters().Failures[why]
			}
		}
	}
	return Counted(m, got.GetModelStats()[0], reasons)
}
