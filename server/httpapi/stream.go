package httpapi

import (
	"triton/pkg/kserve/rest"
	"triton/pkg/status"
	"triton/server/infer"
)

// stream is a generate request that runs.
type stream struct {
	backlog *backlog
	room    []*infer.Response
}

// each calls visit with every response, and drained when it has to wait for the
// next one or, last, when there are no more.
func (s *stream) each(x *exchange, visit func(*infer.Response) error, drained func(last bool) error) error {
	for {
		all, last, err := s.backlog.take(x.ctx, s.room)
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
		s.room = all
		if err == nil {
			err = drained(last)
		}
		if err != nil || last {
			return err
		}
	}
}

// replyEvents sends each response as it comes. The status is that of the first.
func (x *exchange) replyEvents(s *stream) error {
	x.form = eventStream
	first := true
	return s.each(x, func(r *infer.Response) error {
		x.text = append(x.text[:0], "data: "...)
		err := x.appendGenerated(r)
		if first {
			first = false
			x.status = statusOf(err)
			x.responded()
		}
		x.text = append(x.text, "\n\n"...)
		return x.chunks.chunk(x, x.text)
	}, func(last bool) error {
		return x.chunks.flush(x, last)
	})
}

// replyOnce sends the only response when the model has come to its end. The
// status is that of the first, whatever follows it.
func (x *exchange) replyOnce(s *stream) error {
	n := 0
	return s.each(x, func(r *infer.Response) error {
		if n++; n == 1 {
			x.text = x.text[:0]
			x.status = statusOf(x.appendGenerated(r))
			x.responded()
		}
		return nil
	}, func(last bool) error {
		if !last {
			return nil
		}
		if n != 1 {
			x.text = appendError(x.text[:0], errNotOne.Msg)
		}
		if err := x.chunks.chunk(x, x.text); err != nil {
			return err
		}
		return x.chunks.flush(x, true)
	})
}

// appendGenerated writes a response to the end of the text. The error is the one
// that the text tells of.
func (x *exchange) appendGenerated(r *infer.Response) error {
	err := r.Err
	if err == nil {
		var text []byte
		if text, err = x.encoder.EncodeGenerated(x.text, &r.Response); err == nil {
			x.text = text
			return nil
		}
	}
	x.text = appendError(x.text, status.From(err).Msg)
	return err
}

func statusOf(err error) int {
	if err == nil {
		return 200
	}
	return status.From(err).Code.HTTP()
}

func appendError(b []byte, text string) []byte {
	b = append(b, `{"error":`...)
	b = rest.AppendString(b, text)
	return append(b, '}')
}
