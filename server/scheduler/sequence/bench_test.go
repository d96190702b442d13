package sequence_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
)

// One request of a sequence through the scheduler: enqueue, form, controls, done.
func BenchmarkRequest(b *testing.B) {
	for name, make := range map[string]func() *inferencepb.ModelConfig{
		"direct": func() *inferencepb.ModelConfig { return direct(8, 0, 0) },
		"oldest": func() *inferencepb.ModelConfig { return oldest(8, 8, 0) },
	} {
		b.Run(name, func(b *testing.B) {
			cfg := make()
			cfg.GetSequenceBatching().ControlInput = allControls(tensor.Uint64)
			cfg.GetSequenceBatching().MaxSequenceIdleMicroseconds = 1e9
			source, slots, err := sequence.New(sequence.Options{
				Config: cfg, Slots: 1, Stats: stats.NewModel("m", "1", 8), Log: slog.New(slog.DiscardHandler), Pool: tensor.NewPool(),
			})
			require.NoError(b, err)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				r := infer.NewRequest()
				r.SequenceID, r.Batch = 1, 1
				r.SequenceStart, r.SequenceEnd = n%10 == 0, n%10 == 9
				if _, err := source.Enqueue(r, false); err != nil {
					b.Fatal(err)
				}
				if !source.Next(slots[0]) {
					b.Fatal("no batch")
				}
				r.ReleaseInputs()
				if !source.Released(r) {
					r.Release()
				}
				slots[0].Batch.Reset()
				r.Release()
			}
		})
	}
}
