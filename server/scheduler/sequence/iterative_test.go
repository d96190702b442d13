package sequence_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// countdown is a backend of iterative sequences: a request with priority n runs n
// times. One of a decoupled model gets a response each time.
func countdown(exec time.Duration, decoupled bool) func(*harness) {
	return func(s *harness) {
		left := map[uint64]uint64{}
		s.cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: decoupled}
		s.run = func(_ context.Context, b *infer.Batch) error {
			time.Sleep(exec)
			for _, r := range b.Requests {
				if r.Membership.Null {
					continue
				}
				if r.SequenceStart {
					left[r.SequenceID] = r.Priority
				}
				left[r.SequenceID]--
				again := left[r.SequenceID] > 0
				if again {
					if err := r.Reschedule(); err != nil {
						return err
					}
				}
				if decoupled || !again {
					r.Respond(infer.NewResponse(), !again)
				}
			}
			return nil
		}
	}
}

func iterative(cfg *inferencepb.ModelConfig) *inferencepb.ModelConfig {
	cfg.GetSequenceBatching().IterativeSequence = true
	return cfg
}

// plain makes a request one of no sequence, that runs n times.
func plain(n uint64) func(*infer.Request) {
	return func(r *infer.Request) {
		r.SequenceID, r.SequenceStart, r.SequenceEnd, r.Priority = 0, false, false, n
	}
}

func TestIterative(t *testing.T) {
	t.Parallel()
	for _, decoupled := range []bool{false, true} {
		t.Run(fmt.Sprintf("decoupled %t", decoupled), func(t *testing.T) {
			t.Parallel()
			s := play(t, iterative(direct(1, 0, 0)), func(s *harness) {
				s.send("A B C D", plain(2))
				s.at(1000)
				require.Equal(t, "20: ok", s.answer("A"))
				require.Equal(t, "80: ok", s.answer("D"))
			}, countdown(10*time.Millisecond, decoupled))
			require.Equal(t, []string{"0: A", "10: A", "20: B", "30: B", "40: C", "50: C", "60: D", "70: D"}, s.batches())
		})
	}
}

// Requests join each other's iterations.
func TestIterativeBatches(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]*inferencepb.ModelConfig{"direct": direct(4, 0, 0), "oldest": oldest(4, 4, 0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, iterative(cfg), func(s *harness) {
				s.send("A", plain(4))
				s.at(5)
				s.send("B", plain(1))
				s.send("C", plain(2))
				s.at(1000)
			}, countdown(10*time.Millisecond, true))
			want := []string{"0: A", "10: A B C", "20: A - C", "30: A"}
			if name == "oldest" {
				want = []string{"0: A", "10: B C A", "20: C A", "30: A"}
			}
			require.Equal(t, want, s.batches())
		})
	}
}

// A pause between two iterations that is longer than a sequence may be idle ends
// it.
func TestIterativeIdle(t *testing.T) {
	t.Parallel()
	cfg := iterative(direct(1, 0, 0))
	cfg.GetSequenceBatching().MaxSequenceIdleMicroseconds = 200_000
	play(t, cfg, func(s *harness) {
		s.send("A", plain(3))
		s.at(1000)
		require.Regexp(t, `^500: inference request for sequence \d{19,20} to model 'm' must specify the START flag on the first request of the sequence$`, s.answer("A"))
		require.EqualValues(t, 1, s.stats.Counters().Fail.Count)
	}, countdown(500*time.Millisecond, false))
}
