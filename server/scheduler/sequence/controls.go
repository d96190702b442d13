package sequence

import (
	"encoding/binary"
	"math"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// controls are the control inputs, which tell a backend about a request's sequence. All
// values except correlation IDs are in one buffer that all requests share.
type controls struct {
	all           []control
	shape         tensor.Shape
	pool          *tensor.Pool
	values        *tensor.Buffer // nil without controls
	correlationID *control       // of the correlation ID; nil when the model does not want it
}

type control struct {
	name     string
	kind     inferencepb.ModelSequenceBatching_Control_Kind
	dataType tensor.DataType
	size     int
	at       [2]int // offsets in values of false and true; null requests get false
}

// valueBytes is the distance of two values in the buffer, a multiple of every alignment.
const valueBytes = 8

func newControls(cfg *inferencepb.ModelConfig, pool *tensor.Pool) (*controls, error) {
	c := &controls{pool: pool, shape: tensor.Shape{1}}
	if cfg.GetMaxBatchSize() > 0 {
		c.shape = tensor.Shape{1, 1}
	}
	var values []byte
	put := func(v []byte) int {
		at := len(values)
		values = append(append(values, v...), make([]byte, valueBytes-len(v))...)
		return at
	}
	for _, in := range cfg.GetSequenceBatching().GetControlInput() {
		for _, k := range in.GetControl() {
			t := control{name: in.GetName(), kind: k.GetKind()}
			if k.GetKind() == inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID {
				t.dataType = tensor.DataType(k.GetDataType())
				if t.size = t.dataType.Size(); t.dataType == tensor.Bytes {
					t.size = 4 // the length of an empty string
				}
				t.at[0] = put(nil)
			} else {
				no, yes := falseTrue(&t, k)
				t.size = len(no)
				t.at = [2]int{put(no), put(yes)}
			}
			c.all = append(c.all, t)
		}
	}
	if len(values) > 0 {
		var err error
		if c.values, err = pool.TryGet(len(values)); err != nil {
			return nil, status.New(status.Unavailable, "no memory for the controls of model '%s': %w", cfg.GetName(), err)
		}
		copy(c.values.Bytes(), values)
	}
	for i := range c.all {
		if c.all[i].kind == inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID {
			c.correlationID = &c.all[i]
		}
	}
	return c, nil
}

// falseTrue returns the two values that the configuration names.
func falseTrue(t *control, k *inferencepb.ModelSequenceBatching_Control) (no, yes []byte) {
	word := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	if v := k.GetInt32FalseTrue(); len(v) == 2 {
		t.dataType = tensor.Int32
		return word(uint32(v[0])), word(uint32(v[1]))
	}
	if v := k.GetFp32FalseTrue(); len(v) == 2 {
		t.dataType = tensor.FP32
		return word(math.Float32bits(v[0])), word(math.Float32bits(v[1]))
	}
	t.dataType = tensor.Bool
	octet := func(v bool) []byte {
		if v {
			return []byte{1}
		}
		return []byte{0}
	}
	if v := k.GetBoolFalseTrue(); len(v) == 2 {
		return octet(v[0]), octet(v[1])
	}
	return octet(false), octet(true)
}

func (c *controls) free() {
	if c.values != nil {
		c.values.Release()
	}
}

// check returns an error if the correlation ID of a request is text and the model wants a
// number, or the other way round.
func (c *controls) check(r *infer.Request, model string) error {
	if c.correlationID == nil || (idOf(r) == id{}) {
		return nil
	}
	text := r.SequenceIDStr != ""
	if wants := c.correlationID.dataType == tensor.Bytes; text == wants {
		return nil
	}
	got := "UINT64"
	if text {
		got = "BYTES"
	}
	return status.New(status.InvalidArg, "%ssequence batching control '%s' data-type is '%s', but model '%s' expects '%s'",
		r.Tag(), c.correlationID.name, got, model, c.correlationID.dataType)
}

// newCorrelationID allocates memory for the correlation ID of a sequence that a request
// may start; nil when the model does not want it.
func (c *controls) newCorrelationID(r *infer.Request, model string) (*tensor.Buffer, error) {
	if c.correlationID == nil {
		return nil, nil
	}
	n := 8
	if c.correlationID.dataType == tensor.Bytes {
		n = 4 + max(len(r.SequenceIDStr), maxGenerated) // the id may be generated later
	}
	b, err := c.pool.TryGet(n)
	if err != nil {
		return nil, status.New(status.Unavailable, "%sno memory for the correlation ID of a sequence of model '%s': %w", r.Tag(), model, err)
	}
	return b, nil
}

// writeID writes a correlation ID to memory of newCorrelationID.
func (c *controls) writeID(b *tensor.Buffer, i id) {
	if c.correlationID.dataType == tensor.Bytes {
		b.Truncate(len(tensor.AppendElementString(b.Bytes()[:0], i.text)))
		return
	}
	binary.LittleEndian.PutUint64(b.Bytes(), i.number) // smaller types use the low bytes
}

// addTo adds the controls to a request.
func (c *controls) addTo(r *infer.Request, corrid *tensor.Buffer) {
	for i := range c.all {
		t, on := &c.all[i], 0
		switch t.kind {
		case inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_START:
			on = boolIndex(r.SequenceStart)
		case inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_END:
			on = boolIndex(r.SequenceEnd)
		case inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_READY:
			on = 1
		default:
			n := t.size
			if t.dataType == tensor.Bytes {
				n = corrid.Len()
			}
			c.add(r, t, tensor.SliceData(corrid, 0, n))
			continue
		}
		c.add(r, t, tensor.SliceData(c.values, t.at[on], t.size))
	}
}

// addNullTo adds the controls of a null request.
func (c *controls) addNullTo(r *infer.Request) {
	for i := range c.all {
		t := &c.all[i]
		c.add(r, t, tensor.SliceData(c.values, t.at[0], t.size))
	}
}

func (c *controls) add(r *infer.Request, t *control, d tensor.Data) {
	x := r.Extra()
	x.Name, x.DataType, x.Shape, x.Data = t.name, t.dataType, c.shape, d
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}
