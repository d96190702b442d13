package builtin

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// DynaSequence is the backend "dyna_sequence": Sequence with a sum for each correlation
// ID, whatever the row, so that its model may use the oldest strategy. The last request
// of a sequence adds the ID, truncated to 32 bits. The controls are START, END, READY and
// CORRID, which is UINT64 or a string that holds a number.
//
// Parameter: execute_delay_ms.
type DynaSequence struct{}

var (
	_ backend.Backend  = DynaSequence{}
	_ backend.Model    = (*dynaModel)(nil)
	_ backend.Instance = (*dynaInstance)(nil)
)

// Load checks the configuration.
func (DynaSequence) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := check("dyna_sequence", spec.Config); err != nil {
		return nil, err
	}
	return &dynaModel{spec, time.Duration(count(spec.Config, "execute_delay_ms")) * time.Millisecond, idType(spec.Config)}, nil
}

// idType returns the type of the correlation IDs.
func idType(cfg *inferencepb.ModelConfig) (d inferencepb.DataType) {
	for _, c := range cfg.GetSequenceBatching().GetControlInput() {
		if c.GetName() == "CORRID" {
			d = c.GetControl()[0].GetDataType()
		}
	}
	return d
}

type dynaModel struct {
	spec  backend.Spec
	delay time.Duration
	id    inferencepb.DataType
}

func (m *dynaModel) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	if err := onlyCPU("dyna_sequence", at); err != nil {
		return nil, err
	}
	return &dynaInstance{m, map[uint64]int32{}}, nil
}

func (*dynaModel) Close() error { return nil }

type dynaInstance struct {
	*dynaModel
	sums map[uint64]int32 // by id
}

func (i *dynaInstance) Execute(ctx context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	if len(b.Requests) > int(max(1, i.spec.Config.GetMaxBatchSize())) {
		return status.New(status.Unsupported, "unable to execute batch larger than max-batch-size")
	}
	if err := pause(ctx, i.delay, neverAbandoned); err != nil {
		return err
	}
	answerEach(b, i.answer)
	return nil
}

func (i *dynaInstance) answer(_ int, r *infer.Request) (*infer.Response, error) {
	if err := requireSingleStep(i.spec.Config.GetMaxBatchSize() > 0, r); err != nil {
		return nil, err
	}
	var on [3]bool
	for k, name := range [...]string{"START", "END", "READY"} {
		var err error
		if on[k], err = flag(r, name); err != nil {
			return nil, err
		}
	}
	start, end, ready := on[0], on[1], on[2]
	id, err := i.idOf(r)
	if err != nil {
		return nil, err
	}
	step, err := sum(r)
	if err != nil {
		return nil, err
	}
	if !ready {
		return infer.NewResponse(), nil
	}
	return filled(r, i.add(id, step, start, end))
}

// add returns the sum of a sequence after a step.
func (i *dynaInstance) add(id uint64, step int32, start, end bool) int32 {
	if start {
		i.sums[id] = 0
	}
	if end {
		total := i.sums[id] + step + int32(id)
		delete(i.sums, id)
		return total
	}
	i.sums[id] += step
	return i.sums[id]
}

// idOf returns the correlation ID. A string ID counts up to the end of the number that
// it begins with.
func (i *dynaInstance) idOf(r *infer.Request) (uint64, error) {
	mem, err := bytesOf(r, "CORRID")
	if err != nil {
		return 0, err
	}
	if i.id == inferencepb.DataType_TYPE_UINT64 {
		if len(mem) < 8 {
			return 0, status.New(status.InvalidArg, "%sinput 'CORRID' has no element", r.Tag())
		}
		return binary.NativeEndian.Uint64(mem), nil
	}
	for element, err := range tensor.Elements(mem) {
		if id, ok := leadingNumber(string(element)); ok && err == nil {
			return uint64(id), nil
		}
		break
	}
	return 0, status.New(status.InvalidArg, "dyna sequence backend expects correlation ID to be decodable into an integer")
}

// leadingNumber returns the 32-bit number with which a text begins, after blanks.
func leadingNumber(text string) (int64, bool) {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	n := 0
	for n < len(text) && (text[n] >= '0' && text[n] <= '9' || n == 0 && (text[0] == '+' || text[0] == '-')) {
		n++
	}
	v, err := strconv.ParseInt(text[:n], 10, 32)
	return v, err == nil
}

func (*dynaInstance) Close() error { return nil }
