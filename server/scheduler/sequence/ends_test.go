package sequence_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

const noStart = "inference request for sequence 65 to model 'm' must specify the START flag on the first request of the sequence"

func TestIdle(t *testing.T) {
	t.Parallel()
	cfg := direct(4, 0, 0)
	cfg.GetSequenceBatching().MaxSequenceIdleMicroseconds = 5_000_000
	s := play(t, cfg, func(s *harness) {
		s.send("(A1 (B1 (C1 (D1")
		s.at(2000)
		s.send("(E1)") // in the backlog, until A has been idle for too long
		s.at(2500)
		s.send("B2 C2 D2")
		s.at(4999)
		require.Empty(t, s.answer("E1"))
		s.at(5001)
		require.Equal(t, "5000: ok", s.answer("E1"))
		s.send("B3 C3 D3")
		s.at(6000)
		require.EqualError(t, s.submit(s.request("A2")), noStart)
		s.send("B4) C4) D4)")
	})
	require.Contains(t, s.ran(), "E1", "in the first row, which was A's")
	require.Zero(t, s.stats.Counters().Fail.Count)
}

func patient(seconds uint64) func(*infer.Request) {
	return func(r *infer.Request) { r.TimeoutMicros = seconds * 1e6 }
}

// Only the backlog has timeouts.
func TestBacklogTimeout(t *testing.T) {
	t.Parallel()
	s := play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(A1 A2 A3)", patient(3))
		s.at(1000)
		s.send("(B1 B2 B3)", patient(3))
		s.at(20000)
		for _, id := range []string{"B1", "B2", "B3"} {
			require.Equal(t, "4000: timeout of the corresponding sequence has been expired", s.answer(id))
		}
		require.Equal(t, "15000: ok", s.answer("A3"))
	}, taking(5*time.Second))
	require.EqualValues(t, 3, s.stats.Counters().Failures[stats.Rejected])
}

func TestBacklogTimeoutForgetsTheSequence(t *testing.T) {
	t.Parallel()
	play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(B1 B2 B3)")
		s.at(1000)
		s.send("(A1", patient(3))
		s.at(3000)
		s.send("A2", patient(3))
		s.at(5000)
		require.Equal(t, "4000: timeout of the corresponding sequence has been expired", s.answer("A2"))
		require.EqualError(t, s.submit(s.request("A3)")), noStart)
	}, taking(5*time.Second))
}

func TestCancel(t *testing.T) {
	t.Parallel()
	t.Run("in a slot", func(t *testing.T) {
		t.Parallel()
		s := play(t, direct(1, 0, 0), func(s *harness) {
			s.send("(A1")
			s.at(10)
			second := s.keep("A2")
			s.send("A3)")
			s.send("(B1)")
			second.Cancel()
			second.Release()
			require.Equal(t, "10: ", s.answer("A3"), "at once")
			s.at(200)
			require.Equal(t, "100: ok", s.answer("A1"))
			require.Equal(t, "200: ok", s.answer("B1"))
		}, taking(100*time.Millisecond))
		require.EqualValues(t, 2, s.stats.Counters().Failures[stats.Canceled])
	})
	t.Run("in the backlog", func(t *testing.T) {
		t.Parallel()
		s := play(t, direct(1, 0, 0), func(s *harness) {
			s.send("(A1 (B1")
			second := s.keep("B2")
			second.Cancel()
			second.Release()
			require.Equal(t, "0: ", s.answer("B1"), "all of it")
			require.Error(t, s.submit(s.request("B3)")))
		}, taking(100*time.Millisecond))
		require.EqualValues(t, 2, s.stats.Counters().Failures[stats.Canceled])
	})
	t.Run("handed over", func(t *testing.T) {
		t.Parallel()
		play(t, oldest(4, 1, 1000, 4), func(s *harness) {
			first := s.keep("(A1")
			s.send("A2) (B1)")
			s.at(10)
			first.Cancel()
			first.Release()
			require.Equal(t, "10: ", s.answer("A2"))
			s.at(2000)
			require.Equal(t, "1010: ok", s.answer("B1"))
		})
	})
}

// keep submits a request and keeps the frontend's reference.
func (s *harness) keep(text string) *infer.Request {
	r := s.request(text)
	r.Sink = s.sink(r.ID)
	require.NoError(s.t, s.group.Submit(r))
	return r
}

func TestEnqueueErrors(t *testing.T) {
	t.Parallel()
	play(t, direct(2, 0, 0), func(s *harness) {
		for name, c := range map[string]struct {
			change func(*infer.Request)
			want   string
			code   status.Code
		}{
			"two rows":       {func(r *infer.Request) { r.Batch, r.SequenceID = 2, 0 }, "inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher", status.InvalidArg},
			"no id":          {func(r *infer.Request) { r.SequenceID = 0 }, "inference request to model 'm' must specify a non-zero or non-empty correlation ID", status.InvalidArg},
			"no START":       {func(*infer.Request) {}, noStart, status.InvalidArg},
			"no START, text": {func(r *infer.Request) { r.SequenceID, r.SequenceIDStr = 0, "x" }, "inference request for sequence x to model 'm' must specify the START flag on the first request of the sequence", status.InvalidArg},
		} {
			r := s.request("A1")
			c.change(r)
			err := s.submit(r)
			require.EqualError(t, err, c.want, name)
			require.Equal(t, c.code, status.CodeOf(err), name)
		}
		require.Zero(t, s.stats.Counters().Fail.Count)
		s.send("(A1 (A2)")
		synctest.Wait()
		require.Contains(t, s.mu.logged[0], "sequence 65 for model 'm' has a conflict. The previous sequence did not end before this sequence start. Previous sequence will be terminated early.")
	})
}

// While a server stops, sequences that have begun go on.
func TestStop(t *testing.T) {
	t.Parallel()
	play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(A1 (B1")
		over := s.source.Stop()
		err := s.submit(s.request("(C1"))
		require.EqualError(t, err, "Server is stopping, scheduler for model has stopped accepting new inference requests")
		require.Equal(t, status.Unavailable, status.CodeOf(err))
		s.send("A2) B2")
		synctest.Wait()
		require.Equal(t, 1, s.source.SlotsInUse())
		select {
		case <-over:
			require.Fail(t, "over too early")
		default:
		}
		s.send("B3)")
		<-over
	})
}

// A drain does not wait for sequences of which nothing waits, but runs all that
// does, those in the backlog too.
func TestDrainRunsWhatWaits(t *testing.T) {
	t.Parallel()
	s := play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(A1 A2 (B1 B2 (C1)")
	}, taking(100*time.Millisecond))
	require.Equal(t, []string{"A1", "A2", "B1", "B2", "C1"}, s.ran())
}

func TestDrainThatGivesUp(t *testing.T) {
	t.Parallel()
	play(t, oldest(1, 1, 0), func(s *harness) {
		s.send("(A1 A2) (B1")
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		require.Error(t, s.group.Drain(ctx))
		require.Contains(t, s.answer("A2"), "Server is stopping")
		require.Contains(t, s.answer("B1"), "Server is stopping")
	}, taking(100*time.Millisecond))
}

// The sequences of a broken instance end with it.
func TestBreakdown(t *testing.T) {
	t.Parallel()
	play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(A1 (B1 A2 B2)")
		s.at(1000)
		require.Contains(t, s.answer("A1"), "broke down")
		require.Contains(t, s.answer("A2"), "the sequence has ended: its instance of model 'm' broke down")
		require.Contains(t, s.answer("B2"), "ok")
		require.EqualError(t, s.submit(s.request("A3)")), noStart)
		s.send("(C1)")
		s.at(2000)
		require.Contains(t, s.answer("C1"), "ok")
	}, func(s *harness) {
		s.opts.Slots = 2
		s.run = func(_ context.Context, b *infer.Batch) error {
			time.Sleep(100 * time.Millisecond)
			for _, r := range b.Requests {
				if r.ID == "A1" {
					panic("no")
				}
				r.Respond(infer.NewResponse(), true)
			}
			return nil
		}
	})
}
