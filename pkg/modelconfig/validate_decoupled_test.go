package modelconfig

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	pb "triton/pkg/inferencepb"
)

// TestOrderOfSteps compares the order with its definition: rounds over all steps.
func TestOrderOfSteps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(12)
		at := rng.Perm(n)
		e := &pb.ModelEnsembling{Step: make([]*pb.ModelEnsembling_Step, n)}
		for i := range n {
			in := map[string]string{"a": "given"}
			for k := range rng.IntN(3) {
				from := rng.IntN(max(i, 1))
				if rng.IntN(20) == 0 {
					from = rng.IntN(n) // perhaps a cycle
				}
				in[fmt.Sprint(k)] = fmt.Sprintf("t%d.%d", from, rng.IntN(2))
			}
			e.Step[at[i]] = &pb.ModelEnsembling_Step{InputMap: in, OutputMap: map[string]string{
				"x": fmt.Sprintf("t%d.0", i), "y": fmt.Sprintf("t%d.1", i),
			}}
		}
		g := newTensorGraph(e)
		var want []int
		for range e.Step {
			for i, s := range e.Step {
				waits := func(t string) bool {
					w, written := g.writer[t]
					return written && !slices.Contains(want, w)
				}
				if !slices.Contains(want, i) && !slices.ContainsFunc(tensorsOf(s.InputMap), waits) {
					want = append(want, i)
				}
			}
		}
		require.Equal(t, want, g.order(), "seed %d: %v", seed, e)
	}
}
