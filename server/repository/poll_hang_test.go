package repository

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/backend/backendtest"
)

// The load of a model hangs in its backend. The polls go on: other models are loaded and removed, with a
// single place to load too. The log and the index name the model. When it is loaded at last, what was
// changed meanwhile is loaded too.
func TestAHungLoadHoldsUpNoPoll(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){"poll": polling(time.Second), "auto": func(o *Options) {
		polling(time.Second)(o)
		o.Control = ControlAuto
		o.Demand = Demand{KeepAlive: -1, Timeout: 10 * time.Second, MaxWaiting: 10}
		o.Startup = []string{"*"}
	}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				odd := strings.Replace(identity, "identity", "odd", 1)
				s := newRemote(t, map[string]string{
					"m/config.pbtxt": odd, "m/1/model": "a", "n/config.pbtxt": identity, "n/1/model": "a", "o/config.pbtxt": identity, "o/1/model": "a",
				})
				var loads atomic.Int32
				var hangs atomic.Bool
				end := make(chan struct{})
				r, out, err := open(t, func(o *Options) {
					change(o)
					o.Store, o.LoadThreads = s, 1
					o.Backends["odd"] = backendtest.Loading(func(backend.Spec) error {
						loads.Add(1)
						if hangs.Load() {
							<-end
						}
						return nil
					})
				})
				require.NoError(t, err)
				keep(t, r, 5*time.Second)
				synctest.Wait()
				require.Contains(t, states(r), "m:1 READY")
				hangs.Store(true)
				s.put("m/1/model", "b")
				time.Sleep(10 * time.Second)
				synctest.Wait()
				require.EqualValues(t, 2, loads.Load())

				s.put("n/1/model", "b")
				s.remove("o")
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				require.EqualValues(t, 2, loads.Load(), "once, though it differs in each poll")
				require.NotContains(t, states(r), "o:1 READY", "it was removed")
				require.Contains(t, out.messages(), "model 'm' version 1 has been loading for 1m0s")
				require.Contains(t, states(r), "m:1 READY version 1 has been loading for 2m")
				require.Equal(t, 2, strings.Count(out.messages(), "successfully loaded 'n'"))

				s.put("m/1/model", "c")
				time.Sleep(10 * time.Second)
				hangs.Store(false)
				close(end)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.EqualValues(t, 3, loads.Load(), "the change that came while it hung")
				require.NotContains(t, states(r), "has been loading")
				require.Contains(t, states(r), "m:1 READY")
			})
		})
	}
}

// panickyLog is a log that panics at the messages about a broken configuration.
type panickyLog struct{ slog.Handler }

func (h panickyLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "Poll failed for model directory") {
		panic("no luck")
	}
	return h.Handler.Handle(ctx, r)
}

// A panic in the part of a poll that goes on after it ends that part, and not the server: its models are free
// for the next poll.
func TestAPanicAfterAPoll(t *testing.T) {
	t.Parallel()
	s := newRemote(t, map[string]string{"m/config.pbtxt": identity, "m/1/model": "a"})
	r, out, err := open(t, func(o *Options) {
		polling(0)(o)
		o.Store, o.Log = s, slog.New(panickyLog{o.Log.Handler()})
	})
	require.NoError(t, err)
	s.put("m/config.pbtxt", "no configuration")
	require.NoError(t, r.Poll(t.Context()))
	require.Contains(t, out.messages(), "panic")
	s.put("m/config.pbtxt", identity)
	s.put("m/1/model", "b")
	require.NoError(t, r.Poll(t.Context()))
	require.Equal(t, 2, strings.Count(out.messages(), "successfully loaded 'm'"))
}

// A drain begins while a poll reads the models: the poll loads nothing more, and keeps no files of what it
// has found.
func TestAPollDuringADrainKeepsNoFiles(t *testing.T) {
	t.Parallel()
	s := newRemote(t, map[string]string{"m/config.pbtxt": identity, "m/1/model": "a"})
	r, _, err := open(t, func(o *Options) {
		polling(0)(o)
		o.Store = s
	})
	require.NoError(t, err)
	s.put("n/config.pbtxt", identity)
	s.put("n/1/model", "a")
	held := s.open.Load()
	var begun bool
	s.on(func(_ context.Context, call string) error {
		if !begun && strings.HasPrefix(call, "stamp n") {
			begun = true
			r.tasks.close()
		}
		return nil
	})
	loads, err := r.beginPoll(t.Context(), pollOptions{retry: true})
	require.NoError(t, err)
	loads.Wait()
	require.True(t, begun)
	require.NotContains(t, states(r), "n:1")
	require.Equal(t, held, s.open.Load(), "folders that are still held")
}
