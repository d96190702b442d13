package grpcapi

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/kserve"
	"triton/pkg/kserve/rpc"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/infer"
)

// write writes responses until the client has half-closed and all requests are answered,
// or the stream breaks. It returns the status of the stream.
func (s *stream) write() error {
	ctx, cancel := withDeadlineMargin(s.conn.Context())
	defer cancel()
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return deadlineError(ctx, grpcstatus.FromContextError(ctx.Err()).Err())
		}
		for s.take() {
			for i := range s.writing {
				if err := s.deliver(&s.writing[i]); err != nil {
					return err
				}
			}
		}
		if over, err := s.isOver(); over {
			return err
		}
	}
}

// take moves ready responses to writing. It reports false if there are none, or no more are to be
// written.
func (s *stream) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.writing)
	s.writing = s.writing[:0]
	if s.aborted != nil {
		return false
	}
	n, size := 0, 0
	for n < len(s.ready) && size < infer.MaxTaken {
		size += s.ready[n].size()
		n++
	}
	s.writing = append(s.writing, s.ready[:n]...)
	left := copy(s.ready, s.ready[n:])
	clear(s.ready[left:])
	s.ready = s.ready[:left]
	return n > 0
}

// isOver reports whether the stream has ended, and its status. Requests before an
// invalid message, or before one too many, are still answered.
func (s *stream) isOver() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted != nil {
		return true, s.aborted
	}
	broken := s.readErr != nil && !errors.Is(s.readErr, errParse) && !refusedMessage(s.readErr)
	return broken || s.ended && s.inFlight.n == 0, s.readErr
}

// refusedMessage reports whether a message was refused for its size.
func refusedMessage(err error) bool {
	code := grpcstatus.Code(err)
	return code == codes.ResourceExhausted || code == codes.InvalidArgument
}

// deliver writes one response and ends its call if it is the last.
func (s *stream) deliver(o *outgoing) error {
	c := o.call
	size := o.size()
	err := s.writeResponse(o)
	s.mu.Lock()
	s.heldBytes -= size
	s.unread.Remove(size)
	if o.last {
		s.heldBytes -= c.bytes
		s.inFlight.remove(c)
	}
	s.mu.Unlock()
	s.mayContinue.Signal()
	last := o.last
	o.release()
	*o = outgoing{}
	if last {
		c.free()
	}
	return err
}

// writeResponse writes one response, unless the client does not want it.
func (s *stream) writeResponse(o *outgoing) error {
	c := o.call
	if o.err != nil {
		s.scratch = kserve.Response{ID: c.id, Parameters: s.scratch.Parameters[:0]}
		return s.send(c, status.From(o.err).Msg, &s.scratch)
	}
	if o.resp == nil && c.decoupled {
		if !c.emptyFinal {
			return nil
		}
		return s.send(c, "", s.responseHeader(o))
	}
	if err := c.check(o); err != nil {
		if s.strict {
			return statusError(err)
		}
		return s.send(c, status.From(err).Msg, s.responseHeader(o))
	}
	o.resp.Parameters = append(o.resp.Parameters, finalResponse(o.final))
	return s.send(c, "", &o.resp.Response)
}

// responseHeader returns a response with the ID and the model of the request, named as
// the client named it.
func (s *stream) responseHeader(o *outgoing) *kserve.Response {
	c := o.call
	s.scratch = kserve.Response{
		ID: c.id, ModelName: c.name, ModelVersion: c.version, Parameters: append(s.scratch.Parameters[:0], finalResponse(o.final)),
	}
	return &s.scratch
}

func finalResponse(final bool) kserve.Parameter {
	return kserve.Parameter{Name: "triton_final_response", Kind: kserve.ParamBool, Bool: final}
}

// check replaces outputs by their classes and returns an error if the response cannot
// be sent.
func (c *call) check(o *outgoing) error {
	if o.resp == nil {
		return infer.ErrNoResponse
	}
	if o.resp.Err != nil {
		return o.resp.Err
	}
	if err := classify(c.model, c.request, o.resp, &c.charge.memory); err != nil {
		return err
	}
	if err := c.stream.service.opts.chargeCompressed(o.resp, &c.charge.memory); err != nil {
		return err
	}
	return checkSize(o.resp, streamOverhead)
}

// streamOverhead bounds the bytes of a stream message around its response.
const streamOverhead = 64

func (s *stream) send(c *call, problem string, r *kserve.Response) error {
	if c.decoupled {
		testDelay(s.service.opts.Delays.Response)
	}
	if problem != "" {
		log.Lazy(s.service.opts.Log, 1, func() string { return infer.Tag(c.id) + "Infer failed: " + problem })
	}
	s.message = rpc.StreamResponse{Error: strings.ToValidUTF8(problem, "\uFFFD"), Response: r}
	c.trace.Sending()
	err := s.conn.SendMsg(&s.message)
	c.trace.Sent()
	return err
}
