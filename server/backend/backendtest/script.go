package backendtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"triton/server/infer"
	"triton/server/infer/infertest"
)

// ErrScript is the error of a script's e and E.
var ErrScript = errors.New("bad")

// Scripted returns a model that does what infertest.ParseScript reads from the ID of each
// request. After a script without a final response it waits until the request is cancelled.
func Scripted() *Model {
	m := &Model{Begin: time.Now(), Own: true}
	m.Run = func(_ context.Context, b *infer.Batch) error {
		for _, r := range b.Requests {
			if err := m.script(r); err != nil {
				return err
			}
		}
		return nil
	}
	return m
}

func (m *Model) script(r *infer.Request) error {
	steps, begin := infertest.ParseScript(r.ID), time.Now()
	returns := slices.IndexFunc(steps, func(s infertest.Step) bool { return s.Word == "|" })
	if returns < 0 {
		returns = len(steps)
	}
	ended := false
	for _, s := range steps[:returns] {
		time.Sleep(time.Until(begin.Add(s.At)))
		switch s.Word {
		case "fail":
			return ErrFault
		case "panic":
			panic(ErrFault)
		}
		ended = send(r, s.Word) || ended
	}
	if ended {
		return nil
	}
	m.Go(func() {
		for _, s := range steps[returns:] {
			time.Sleep(time.Until(begin.Add(s.At)))
			if send(r, s.Word) {
				return
			}
		}
		for !r.Cancelled() {
			time.Sleep(time.Millisecond)
		}
		r.Respond(nil, true)
	})
	return nil
}

// send sends the response of a word and reports whether it is the final one.
func send(r *infer.Request, word string) (final bool) {
	final = word == "R" || word == "E" || word == "f"
	switch word {
	case "r", "R":
		r.Respond(infer.NewResponse(), final)
	case "e", "E":
		resp := infer.NewResponse()
		resp.Err = ErrScript
		r.Respond(resp, final)
	case "0", "f":
		r.Respond(nil, final)
	}
	return final
}
