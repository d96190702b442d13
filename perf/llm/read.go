package llm

import (
	"unicode/utf8"

	"triton/perf"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// The names of inputs and outputs that language models on Triton have, and of those of the
// service kind openai.
const (
	payload    = "payload"
	response   = "response"
	sessionID  = "session_id"
	textInput  = "text_input"
	textOutput = "text_output"
	inputIDs   = "input_ids"
	outputIDs  = "output_ids"
)

// field is an input or an output by its name: text, or a number of numbers.
type field struct {
	name    string
	text    []byte
	isText  bool
	numbers int
}

// timed is a response with its outputs.
type timed struct {
	at      int64
	outputs []field
}

// FromProfile returns the requests of a level of a server of a kind.
func FromProfile(p *perf.Profile, kind string) []Request {
	all := make([]Request, 0, len(p.Requests))
	for i := range p.Requests {
		r := &p.Requests[i]
		responses := make([]timed, len(r.Responses))
		for k := range r.Responses {
			responses[k] = timed{r.Responses[k].Time, fieldsOf(r.Responses[k].Outputs)}
		}
		all = append(all, newRequest(kind, r.Start, fieldsOf(r.Inputs), responses))
	}
	return all
}

func fieldsOf(list []kserve.Tensor) []field {
	all := make([]field, 0, len(list))
	for i := range list {
		t := &list[i]
		f := field{name: t.Name, isText: t.DataType == tensor.Bytes}
		if data, ok := t.Data.Contiguous(); ok && f.isText {
			for element, err := range tensor.Elements(data) {
				if err != nil {
					break
				}
				f.text = append(f.text, element...)
			}
		} else if n, err := t.Shape.Elements(); err == nil {
			f.numbers = int(n)
		}
		all = append(all, f)
	}
	return all
}

// find returns a field by its name, nil if there is none.
func find(list []field, name string) *field {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	return nil
}

// textOf returns a field of text: the one of the name, else the only one.
func textOf(list []field, name string) *field {
	if f := find(list, name); f != nil && f.isText {
		return f
	}
	var only *field
	for i := range list {
		if !list[i].isText {
			continue
		}
		if only != nil {
			return nil
		}
		only = &list[i]
	}
	return only
}

// newRequest reads the texts and the tokens of a request.
func newRequest(kind string, start int64, inputs []field, responses []timed) Request {
	r := Request{Start: start, End: start}
	if f := find(inputs, sessionID); f != nil {
		r.Session = string(f.text)
	}
	if n := len(responses); n > 0 {
		r.End = responses[n-1].at
	}
	if kind == "openai" {
		r.readOpenAI(inputs, responses)
	} else {
		r.readTensors(inputs, responses)
	}
	if n := len(r.Responses); n > 0 {
		r.End = r.Responses[n-1].Time
	}
	return r
}

func (r *Request) readOpenAI(inputs []field, responses []timed) {
	var s stream
	for _, t := range responses {
		if f := find(t.outputs, response); f != nil {
			s.add(f.text, t.at)
		}
	}
	s.finish()
	r.Responses, r.Stream = s.responses, s.events
	if f := find(inputs, payload); f != nil {
		r.Input = estimate(utf8.RuneCountInString(prompt(f.text)))
	}
	if s.usage.Prompt != nil {
		r.Input = Tokens{*s.usage.Prompt, Usage}
	}
	r.Output = r.countOutput()
	if s.usage.Completion != nil {
		r.Output = Tokens{*s.usage.Completion, Usage}
	}
}

func (r *Request) readTensors(inputs []field, responses []timed) {
	ids, hasIDs := 0, false
	for _, t := range responses {
		if f := find(t.outputs, outputIDs); f != nil && !f.isText {
			hasIDs = true
			ids += f.numbers
			if f.numbers > 0 {
				r.Responses = append(r.Responses, Response{Time: t.at, Chunks: 1})
			}
		} else if f := textOf(t.outputs, textOutput); f != nil {
			r.Responses = appendText(r.Responses, string(f.text), t.at)
		}
	}
	r.Stream = len(responses) > 1
	if f := find(inputs, inputIDs); f != nil && !f.isText {
		r.Input = Tokens{f.numbers, IDs}
	} else if f := textOf(inputs, textInput); f != nil {
		r.Input = estimate(utf8.RuneCount(f.text))
	}
	r.Output = r.countOutput()
	if hasIDs {
		r.Output = Tokens{ids, IDs}
	}
}

// countOutput counts tokens without help of the server.
func (r *Request) countOutput() Tokens {
	characters, chunks := 0, 0
	for _, p := range r.Responses {
		characters += utf8.RuneCountInString(p.Text)
		chunks += p.Chunks
	}
	if r.Stream {
		return Tokens{chunks, Chunks}
	}
	return estimate(characters)
}

// estimate counts the tokens of a text with so many characters.
func estimate(characters int) Tokens {
	return Tokens{(characters + charactersPerToken - 1) / charactersPerToken, Characters}
}
