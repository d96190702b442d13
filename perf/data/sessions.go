package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The data of sessions has the session and the delay of each turn beside its inputs, like
// tensors. The errors have perf_analyzer's texts.

var (
	errNoSessions       = errors.New("When using `--session-concurrency`, you must provide a dataset using `--input-data`.")
	errOneSessionStream = errors.New(`Expected input data JSON to have one stream. Session concurrency mode must have an input data JSON with a single flat array for the "data" field with one element per request payload.`)
)

// Turn is the place of a step in a session.
type Turn struct {
	ID string
	// Delay is the time between the answer and the next turn. The last turn needs none.
	Delay    time.Duration
	HasDelay bool
}

var (
	sessionTensor = Tensor{Name: "session_id", DataType: tensor.Bytes, Shape: tensor.Shape{1}}
	delayTensor   = Tensor{Name: "delay", DataType: tensor.Uint64, Shape: tensor.Shape{1}, Optional: true}
)

// turn reads the session of a step.
func turn(step *node, where location) (Turn, error) {
	v, err := values(step, []Tensor{sessionTensor, delayTensor}, where)
	if err != nil {
		return Turn{}, err
	}
	t := Turn{ID: string(v[sessionTensor.Name].Data[4:])} // after the length of its element
	if delay, ok := v[delayTensor.Name]; ok {
		ms := binary.LittleEndian.Uint64(delay.Data)
		if ms > uint64(math.MaxInt64/time.Millisecond) {
			return Turn{}, fmt.Errorf("the delay of %d milliseconds is too long %s", ms, where)
		}
		t.Delay, t.HasDelay = time.Duration(ms)*time.Millisecond, true
	}
	return t, nil
}

// AddTo adds the place to the inputs of a request, for its record.
func (t Turn) AddTo(req *kserve.Request) {
	add := func(of Tensor, b []byte) {
		in := req.AddInput()
		in.Name, in.DataType, in.Shape = of.Name, of.DataType, of.Shape.Clone()
		in.Data = tensor.NewData(tensor.HeapBuffer(b))
	}
	add(sessionTensor, tensor.AppendElementString(nil, t.ID))
	if t.HasDelay {
		add(delayTensor, binary.LittleEndian.AppendUint64(nil, uint64(t.Delay.Milliseconds())))
	}
}

// Sessions returns the steps of each session in their order. The sessions come in the order
// of their first steps.
func (s *Set) Sessions() [][]int {
	var all [][]int
	at := map[string]int{}
	for i := range s.Streams[0] {
		id := s.Streams[0][i].Session.ID
		k, ok := at[id]
		if !ok {
			k = len(all)
			at[id] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

// Turn returns the place of a step in its session.
func (s *Set) Turn(step int) Turn { return s.Streams[0][step].Session }
