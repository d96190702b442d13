package httpapi

import (
	"errors"

	"triton/pkg/kserve"
	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/pkg/tritonjson"
	"triton/server/access"
	"triton/server/http1"
	"triton/server/infer"
)

// stream is a running generate request.
type stream struct {
	backlog *streamBacklog
	spare   []*infer.Response
}

// each calls visit with every response. It calls drained when all responses that have arrived are
// visited: before each wait for more, and, with last set, at the end.
func (s *stream) each(x *exchange, visit func(*infer.Response) error, drained func(last bool) error) error {
	for {
		all, last, err := s.backlog.take(x.Context, s.spare)
		if err != nil {
			return err
		}
		for i, r := range all {
			if err == nil {
				err = visit(r)
			}
			r.Release()
			all[i] = nil
		}
		s.spare = all
		if err == nil {
			err = drained(last)
		}
		if err != nil || last {
			return err
		}
	}
}

// replyEvents sends each response as it arrives. The first one determines the status.
func (x *exchange) replyEvents(s *stream) error {
	defer x.follow(s.backlog)()
	x.ContentType = http1.EventStream
	first := true
	return s.each(x, func(r *infer.Response) error {
		x.Text = append(x.Text[:0], "data: "...)
		err := x.appendGenerated(r)
		if first {
			first = false
			x.Status = statusOf(err)
			x.answered(0)
		}
		x.Text = append(x.Text, "\n\n"...)
		return x.sendChunk()
	}, x.Flush)
}

// replyOnce sends the only response when the model has ended. The first response determines the
// status, whatever follows it.
func (x *exchange) replyOnce(s *stream) error {
	n := 0
	return s.each(x, func(r *infer.Response) error {
		if n++; n == 1 {
			x.Text = x.Text[:0]
			x.Status = statusOf(x.appendGenerated(r))
			x.answered(0)
		}
		return nil
	}, func(last bool) error {
		if !last {
			return nil
		}
		if n != 1 {
			x.Text = appendError(x.Text[:0], errNotOneResponse.Msg)
		}
		if err := x.sendChunk(); err != nil {
			return err
		}
		return x.Flush(true)
	})
}

// sendChunk makes Text a chunk of the reply.
func (x *exchange) sendChunk() error {
	x.sent += int64(len(x.Text))
	return x.Chunk(x.Text)
}

// plain is a request that wants all outputs as text.
var plain kserve.Request

// appendGenerated appends a response, or its error, to the text. It returns that error.
func (x *exchange) appendGenerated(r *infer.Response) error {
	err := r.Err
	if err == nil {
		err = x.replyMemory.Take(rest.TextSize(&r.Response, &plain))
		defer x.replyMemory.End()
	}
	if err == nil {
		var text []byte
		if text, err = x.encoder.EncodeGenerated(x.Text, &r.Response); err == nil {
			x.Text = text
			return nil
		}
	}
	x.logFailed(err)
	x.Text = appendError(x.Text, status.From(err).Msg)
	return err
}

func statusOf(err error) int {
	if err == nil {
		return 200
	}
	if r, ok := errors.AsType[*access.Refusal](err); ok {
		return r.HTTP()
	}
	return status.From(err).Code.HTTP()
}

func appendError(b []byte, text string) []byte {
	b = append(b, `{"error":`...)
	b = tritonjson.AppendString(b, text)
	return append(b, '}')
}
