package infer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

func TestAbandoned(t *testing.T) {
	t.Parallel()
	gone := func(change ...func(*infer.Request)) *infer.Request {
		r := infer.NewUnpooled()
		for _, c := range change {
			c(r)
		}
		r.Cancel()
		return r
	}
	null := infer.NewUnpooled()
	null.Membership.Null = true
	step := func(r *infer.Request) { r.Membership.Sequence = "a sequence" }
	last := func(r *infer.Request) { r.SequenceEnd = true }
	for name, c := range map[string]struct {
		requests []*infer.Request
		want     bool
	}{
		"all have gone":          {[]*infer.Request{gone(), gone()}, true},
		"one waits":              {[]*infer.Request{gone(), infer.NewUnpooled()}, false},
		"rows without a request": {[]*infer.Request{null, gone()}, true},
		"a step before others":   {[]*infer.Request{gone(step)}, false},
		"the last step":          {[]*infer.Request{gone(step, last)}, true},
		"an iteration":           {[]*infer.Request{gone(step, (*infer.Request).AllowReschedule)}, true},
	} {
		b := infer.Batch{Requests: c.requests}
		require.Equal(t, c.want, b.Abandoned(), name)
	}
}
