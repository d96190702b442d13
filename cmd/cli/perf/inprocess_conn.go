package perf

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc/mem"

	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/server/infer"
)

// prepared is a request with its inputs in memory of the server.
type prepared struct {
	kserve.Request
	at       lane.Regions
	sequence bool // Exchange.Sequence has the sequence
}

func (p *prepared) release() { kserve.ReleaseTensors(p.Inputs) }

func decode(codec *rpc.Codec, body []byte, resp *kserve.Response) error {
	return codec.DecodeResponse(mem.BufferSlice{mem.SliceBuffer(bytes.Clone(body))}, resp)
}

// conn is a lane: a caller that has one request in flight.
type conn struct{ target *inProcessTarget }

var _ lane.Conn = (*conn)(nil)

// Close has nothing to close: a request ends with its context.
func (c *conn) Close() error { return nil }

func (c *conn) Do(ctx context.Context, sent *lane.Prepared, x *lane.Exchange) error {
	p, ok := sent.Custom().(*prepared)
	if !ok {
		return errors.New("inprocess: the request was prepared by another target")
	}
	x.Send, x.Receive = 0, 0
	x.Body, x.Responses, x.Bodies, x.EmptyFinal = x.Body[:0], x.Responses[:0], x.Bodies[:0], false
	x.Start = lane.Now()
	err := c.infer(ctx, p, x)
	if err != nil {
		x.End = lane.Now()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *conn) infer(ctx context.Context, p *prepared, x *lane.Exchange) error {
	m, err := c.target.service.Model(p.ModelName, p.ModelVersion)
	if err != nil {
		return err
	}
	defer func() { m.Release() }()
	r := infer.NewRequest()
	defer r.Release()
	if err := c.fill(r, p, m, x.Sequence); err != nil {
		r.Release() // the core's reference
		return err
	}
	m = infer.Choose(m, r)
	if c.target.streaming {
		return c.stream(ctx, m, r, x)
	}
	resp, err := m.Infer(ctx, r)
	x.End = lane.Now()
	if err != nil {
		return err
	}
	if x.Keep {
		x.Body = c.encode(x.Body, resp)
	}
	resp.Release()
	return nil
}

// fill makes r the prepared request.
func (c *conn) fill(r *infer.Request, p *prepared, m infer.Model, s lane.Sequence) error {
	r.ModelName, r.ModelVersion, r.ID = m.Name(), m.Version(), p.ID
	r.Priority, r.TimeoutMicros, r.EmptyFinal = p.Priority, p.TimeoutMicros, p.EmptyFinal
	r.SequenceID, r.SequenceStart, r.SequenceEnd = p.SequenceID, p.SequenceStart, p.SequenceEnd
	if p.sequence {
		r.SequenceID, r.SequenceStart, r.SequenceEnd = s.ID, s.Start, s.End
	}
	r.Parameters = append(r.Parameters, p.Parameters...)
	regions, pool := c.target.Core().Regions(), c.target.Core().Pool()
	for i := range p.Inputs {
		from, t := &p.Inputs[i], r.AddInput()
		t.Name, t.DataType = from.Name, from.DataType
		t.Shape = append(t.Shape[:0], from.Shape...)
		if at := slice(p.at.Inputs, i); at.Region == "" {
			t.Data = from.Data.Clone()
		} else if err := at.Lend(t, regions, pool); err != nil {
			return err
		}
	}
	for i := range p.Outputs {
		r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: p.Outputs[i].Name, Binary: true, Classification: p.Outputs[i].Classification})
		if at := slice(p.at.Outputs, i); at.Region != "" {
			into, err := at.Find(regions)
			if err != nil {
				return err
			}
			r.Outputs[i].Into = into
		}
	}
	return nil
}

func slice(list []kserve.RegionSlice, i int) kserve.RegionSlice {
	if i < len(list) {
		return list[i]
	}
	return kserve.RegionSlice{}
}

// encode replaces b with a response in wire form. An output in shared memory has no bytes.
func (c *conn) encode(b []byte, resp *infer.Response) []byte {
	encoded := c.target.codec.EncodeResponse(&resp.Response)
	defer encoded.Free()
	b = b[:0]
	for _, part := range encoded {
		b = append(b, part.ReadOnlyData()...)
	}
	return b
}

// stream sends a request that may have any number of responses, and receives them all.
func (c *conn) stream(ctx context.Context, m infer.Model, r *infer.Request, x *lane.Exchange) error {
	s := &sink{wake: make(chan struct{}, 1)}
	defer s.leave()
	r.Sink = s
	if err := m.Submit(r); err != nil {
		return err
	}
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			r.Cancel()
			return ctx.Err()
		}
		list, final := s.take()
		for i, got := range list {
			if err := c.receive(x, got); err != nil {
				r.Cancel() // other responses may come
				release(list[i+1:])
				return err
			}
		}
		if final {
			return nil
		}
	}
}

// receive adds a response to x and releases it.
func (c *conn) receive(x *lane.Exchange, got received) error {
	x.End = got.at
	x.Responses = append(x.Responses, got.at)
	x.EmptyFinal = got.resp == nil
	if got.resp == nil {
		if x.Keep {
			x.Bodies = append(x.Bodies, nil)
		}
		return nil
	}
	defer got.resp.Release()
	if got.resp.Err != nil {
		return got.resp.Err
	}
	if x.Keep {
		x.Body = c.encode(x.Body, got.resp)
		x.Bodies = append(x.Bodies, bytes.Clone(x.Body))
	}
	return nil
}

// sink collects the responses of one request.
type sink struct {
	wake chan struct{} // receives when there is something to take
	mu   struct {
		sync.Mutex
		list  []received
		final bool
		left  bool // no one takes
	}
}

var _ infer.Sink = (*sink)(nil)

type received struct {
	resp *infer.Response // nil: an end without data
	at   int64
}

// Send takes a response.
func (s *sink) Send(resp *infer.Response, final bool) {
	now := lane.Now()
	s.mu.Lock()
	left := s.mu.left
	if !left {
		s.mu.final = final
		if resp != nil || final {
			s.mu.list = append(s.mu.list, received{resp, now})
		}
	}
	s.mu.Unlock()
	if left {
		release([]received{{resp, now}})
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns the responses since the last call, and whether the final one is among them.
func (s *sink) take() ([]received, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.mu.list
	s.mu.list = nil
	return list, s.mu.final
}

// leave releases the responses that were not taken, and those that are still to come.
func (s *sink) leave() {
	s.mu.Lock()
	list := s.mu.list
	s.mu.list, s.mu.left = nil, true
	s.mu.Unlock()
	release(list)
}

func release(list []received) {
	for _, got := range list {
		if got.resp != nil {
			got.resp.Release()
		}
	}
}
