package sequence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

func gone(r *infer.Request) { r.Cancel() }

// A request that is cancelled before it is queued ends its sequence, and the backlog gets
// the slot at once.
func TestCancelledBeforeItWaits(t *testing.T) {
	t.Parallel()
	play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(A1")
		s.at(10)
		s.send("(B1 B2)")
		s.at(20)
		s.send("A2", gone)
		s.at(30)
		require.Equal(t, "20: ", s.answer("A2"))
		require.Equal(t, "20: ok", s.answer("B2"))
	})
}

// A backend that has rescheduled requests and then fails, or has also answered
// them, owes each one answer.
func TestRescheduledAndAnswered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  func(r *infer.Request) error
		want string
	}{
		"error":    {func(*infer.Request) error { return errors.New("no luck") }, "0: no luck"},
		"panic":    {func(*infer.Request) error { panic("enough") }, "0: instance 'm_0_0' of model 'm' broke down during execution"},
		"answered": {func(r *infer.Request) error { r.Respond(infer.NewResponse(), true); return nil }, "0: ok"},
	} {
		for _, decoupled := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(t, iterative(direct(1, 0, 0)), func(s *harness) {
					s.send("A", plain(1))
					s.at(1000)
					require.Equal(t, c.want, s.answer("A"))
				}, countdown(0, decoupled), func(s *harness) {
					s.run = func(_ context.Context, b *infer.Batch) error {
						require.NoError(t, b.Requests[0].Reschedule())
						return c.run(b.Requests[0])
					}
				})
			})
		}
	}
}

// closed is a gate that grants nothing.
type closed struct{ aborted chan struct{} }

func (g *closed) Acquire(int) bool { <-g.aborted; return false }
func (*closed) Release(int, bool)  {}
func (*closed) Weight(int) uint64  { return 0 }
func (g *closed) Abort()           { close(g.aborted) }

// After a drain that timed out no instance waits for a grant.
func TestDrainThatGivesUpAtTheGate(t *testing.T) {
	t.Parallel()
	play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(A1)")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		require.Error(t, s.group.Drain(ctx))
		require.Contains(t, s.answer("A1"), "Server is stopping")
	}, func(s *harness) { s.opts.Gate = &closed{make(chan struct{})} })
}

// Waiting requests are pending in the backlog, in a slot and in the instance's queue.
func TestPending(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]*inferencepb.ModelConfig{"direct": direct(1, 0, 0), "oldest": oldest(1, 2, 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, cfg, func(s *harness) {
				s.send("(A1 A2) (B1 B2) (C1)")
				for i, want := range []int64{4, 3, 2, 1, 0} {
					s.at(i*100 + 50)
					require.Equal(t, want, s.stats.Pending.Load(), "batch %d", i)
				}
			}, taking(100*time.Millisecond))
		})
	}
	play(t, iterative(direct(1, 0, 0)), func(s *harness) {
		s.send("A B", plain(2))
		s.at(150) // A runs again
		require.EqualValues(t, 1, s.stats.Pending.Load())
	}, countdown(100*time.Millisecond, false))
}
