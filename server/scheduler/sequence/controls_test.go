package sequence_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// allControls has a control of each kind and type.
func allControls(id tensor.DataType) []*inferencepb.ModelSequenceBatching_ControlInput {
	type control = inferencepb.ModelSequenceBatching_Control
	input := func(name string, c *control) *inferencepb.ModelSequenceBatching_ControlInput {
		return &inferencepb.ModelSequenceBatching_ControlInput{Name: name, Control: []*control{c}}
	}
	return []*inferencepb.ModelSequenceBatching_ControlInput{
		input("START", &control{Kind: inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_START, Int32FalseTrue: []int32{0, 1}}),
		input("END", &control{Kind: inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_END, Fp32FalseTrue: []float32{-1, 1}}),
		input("READY", &control{Kind: inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_READY, BoolFalseTrue: []bool{false, true}}),
		input("CORRID", &control{Kind: inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID, DataType: inferencepb.DataType(id)}),
	}
}

// seen is the extras of a request: START, END, READY and CORRID in hex.
func seen(r *infer.Request) string {
	var all []string
	for _, x := range r.Extras() {
		b, _ := x.Data.Contiguous()
		all = append(all, hex.EncodeToString(b))
	}
	return strings.Join(all, " ")
}

func TestControls(t *testing.T) {
	t.Parallel()
	const yes, no, end, mid = "01000000", "00000000", "0000803f", "000080bf"
	for name, c := range map[string]struct {
		id   tensor.DataType
		set  func(*infer.Request)
		want string // of the id
		null string
	}{
		"uint64": {tensor.Uint64, func(r *infer.Request) { r.SequenceID = 1<<32 + 5 }, "0500000001000000", "0000000000000000"},
		"int64":  {tensor.Int64, func(r *infer.Request) { r.SequenceID = 5 }, "0500000000000000", "0000000000000000"},
		"uint32": {tensor.Uint32, func(r *infer.Request) { r.SequenceID = 1<<32 + 5 }, "05000000", "00000000"},
		"int32":  {tensor.Int32, func(r *infer.Request) { r.SequenceID = 1<<32 - 1 }, "ffffffff", "00000000"},
		"text":   {tensor.Bytes, func(r *infer.Request) { r.SequenceID, r.SequenceIDStr = 0, "abc" }, "03000000616263", "00000000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := direct(2, 0, 0)
			cfg.GetSequenceBatching().ControlInput = allControls(c.id)
			var got []string
			play(t, cfg, func(s *harness) {
				other := func(r *infer.Request) {
					if c.id == tensor.Bytes {
						r.SequenceID, r.SequenceIDStr = 0, "other"
					}
				}
				s.send("(A1", other)
				s.at(1)
				s.send("(B1 B2 B3) (B4)", c.set)
				s.at(2)
				wrong := s.request("(X1)")
				c.set(wrong)
				if c.id == tensor.Bytes {
					wrong.SequenceID, wrong.SequenceIDStr = 7, ""
				} else {
					wrong.SequenceID, wrong.SequenceIDStr = 0, "seven"
				}
				require.ErrorContains(t, s.submit(wrong), "[request id: X1] sequence batching control 'CORRID' data-type is '")
			}, func(s *harness) {
				s.run = func(_ context.Context, b *infer.Batch) error {
					for _, r := range b.Requests {
						require.Equal(t, tensor.Shape{1, 1}, r.Input("START").Shape)
						switch {
						case r.Membership.Null:
							got = append(got, seen(r))
							in, _ := r.Input("IN").Data.Contiguous()
							require.Equal(t, []byte{0}, in)
							continue
						case r.ID[0] == 'B':
							got = append(got, seen(r))
						}
						r.Respond(infer.NewResponse(), true)
					}
					return nil
				}
			})
			row := func(start, end, ready, id string) string { return fmt.Sprint(start, " ", end, " ", ready, " ", id) }
			null := row(no, mid, "00", c.null)
			require.Equal(t, []string{
				null, row(yes, mid, "01", c.want), null, row(no, mid, "01", c.want), null, row(no, end, "01", c.want),
				null, row(yes, end, "01", c.want),
			}, got)
		})
	}
}
