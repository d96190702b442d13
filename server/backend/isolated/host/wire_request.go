package host

import (
	"math"

	"triton/pkg/kserve"
	"triton/server/backend/child"
	"triton/server/infer"
)

// The flags of a request in a batch.
const (
	isNull = 1 << iota
	isStart
	isEnd
	inSequence
	hasStates
	mayReschedule
	isCancelled
)

// PutRequest writes a request.
func PutRequest(m *child.Message, r *infer.Request, w Writer) error {
	m.Uint32(flagsOf(r))
	m.Uint64(uint64(r.Batch))
	m.Uint64(r.Priority)
	m.Uint64(r.TimeoutMicros)
	m.Uint64(r.SequenceID)
	m.String(r.SequenceIDStr)
	m.String(r.ID)
	putParameters(m, r.Parameters)
	m.Uint32(uint32(len(r.Outputs)))
	for i := range r.Outputs {
		m.String(r.Outputs[i].Name)
	}
	var first error
	for _, all := range [...][]kserve.Tensor{r.Inputs, r.Extras()} {
		m.Uint32(uint32(len(all)))
		for i := range all {
			if err := PutTensor(m, &all[i], w); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

func flagsOf(r *infer.Request) (flags uint32) {
	for flag, set := range [...]bool{
		r.Membership.Null, r.SequenceStart, r.SequenceEnd, r.Membership.Sequence != nil, r.Membership.States != nil,
		r.MayReschedule(), r.Cancelled(),
	} {
		if set {
			flags |= 1 << flag
		}
	}
	return flags
}

// readRequest reads a request. states are those of a request with states. The error of the
// frame is in from; the returned one is that of an input's memory.
func readRequest(from *child.Reader, r *infer.Request, states infer.States, mem Reader) (first error) {
	flags := from.Uint32()
	r.Batch, r.Priority, r.TimeoutMicros, r.SequenceID = int(from.Uint64()), from.Uint64(), from.Uint64(), from.Uint64()
	r.SequenceIDStr, r.ID = from.String(), from.String()
	r.Membership.Null, r.SequenceStart, r.SequenceEnd = flags&isNull != 0, flags&isStart != 0, flags&isEnd != 0
	if flags&inSequence != 0 {
		r.Membership.Sequence = true
	}
	if flags&hasStates != 0 {
		r.Membership.States = states
	}
	if flags&mayReschedule != 0 {
		r.AllowReschedule()
	}
	if flags&isCancelled != 0 {
		r.Cancel()
	}
	r.Parameters = readParameters(from, r.Parameters, mem)
	for range from.Uint32() {
		if from.Err() != nil {
			return nil
		}
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: mem.Name(from.Next(uint64(from.Uint32()))), Binary: true})
	}
	for _, add := range [...]func() *kserve.Tensor{r.AddInput, r.Extra} {
		for range from.Uint32() {
			if from.Err() != nil {
				return first
			}
			if err := readTensor(from, add(), mem); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}

func putParameters(m *child.Message, all []kserve.Parameter) {
	m.Uint32(uint32(len(all)))
	for i := range all {
		p := &all[i]
		m.String(p.Name)
		m.Uint8(uint8(p.Kind))
		switch p.Kind {
		case kserve.ParamBool:
			if p.Bool {
				m.Uint8(1)
			} else {
				m.Uint8(0)
			}
		case kserve.ParamInt:
			m.Uint64(uint64(p.Int))
		case kserve.ParamUint:
			m.Uint64(p.Uint)
		case kserve.ParamDouble:
			m.Uint64(math.Float64bits(p.Double))
		default:
			m.String(p.String)
		}
	}
}

func readParameters(r *child.Reader, to []kserve.Parameter, names Reader) []kserve.Parameter {
	for range r.Uint32() {
		if r.Err() != nil {
			break
		}
		p := kserve.Parameter{Name: names.Name(r.Next(uint64(r.Uint32()))), Kind: kserve.ParameterKind(r.Uint8())}
		switch p.Kind {
		case kserve.ParamBool:
			p.Bool = r.Uint8() != 0
		case kserve.ParamInt:
			p.Int = int64(r.Uint64())
		case kserve.ParamUint:
			p.Uint = r.Uint64()
		case kserve.ParamDouble:
			p.Double = math.Float64frombits(r.Uint64())
		default:
			p.String = r.String()
		}
		to = append(to, p)
	}
	return to
}
