package llm

import (
	"bytes"
	"slices"
)

// stream reads the texts of the responses of one request. A text is a whole JSON document, or
// a piece of a stream of server-sent events. perf_analyzer records each network read as a
// response, so that a text may have several events or a part of one.
type stream struct {
	pending   []byte // of an event that is not complete
	at        int64  // time of the newest part of pending
	responses []Response
	usage     usage
	events    bool // the texts are events
}

// fields are the names that a line of an event may begin with.
var fields = [][]byte{[]byte("data:"), []byte("event:"), []byte("id:"), []byte("retry:"), []byte(":")}

func beginsEvent(b []byte) bool {
	return slices.ContainsFunc(fields, func(f []byte) bool { return bytes.HasPrefix(b, f) })
}

// add reads the text of a response.
func (s *stream) add(b []byte, at int64) {
	trimmed := bytes.TrimSpace(b)
	switch {
	case beginsEvent(b):
		s.finish() // some recorders leave out the blank line between events
		s.events = true
	case len(s.pending) == 0 && (bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("["))):
		s.answer(trimmed, at)
		return
	}
	s.pending, s.at = append(s.pending, bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))...), at
	for {
		event, rest, found := bytes.Cut(s.pending, []byte("\n\n"))
		if !found {
			return
		}
		s.event(event)
		s.pending = append([]byte{}, rest...)
	}
}

// finish reads what is pending as a whole event.
func (s *stream) finish() {
	if len(bytes.TrimSpace(s.pending)) > 0 {
		s.event(s.pending)
	}
	s.pending = nil
}

func (s *stream) event(b []byte) {
	var data []byte
	for line := range bytes.Lines(b) {
		if value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
	}
	s.answer(data, s.at)
}

// answer adds a part of the answer. Parts at one time are one response.
func (s *stream) answer(b []byte, at int64) {
	text, u, ok := parseAnswer(b)
	if !ok {
		return
	}
	if u.Prompt != nil {
		s.usage.Prompt = u.Prompt
	}
	if u.Completion != nil {
		s.usage.Completion = u.Completion
	}
	s.responses = appendText(s.responses, text, at)
}

func appendText(list []Response, text string, at int64) []Response {
	if text == "" {
		return list
	}
	if n := len(list); n > 0 && list[n-1].Time == at {
		list[n-1].Text += text
		list[n-1].Chunks++
		return list
	}
	return append(list, Response{at, text, 1})
}
