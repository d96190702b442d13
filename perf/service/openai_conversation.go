package service

import (
	"bytes"
	"encoding/json"
	"fmt"

	"triton/perf"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// conversation keeps the messages of a session. The error texts are perf_analyzer's.
type conversation struct{ history []json.RawMessage }

var _ perf.Conversation = (*conversation)(nil)

// Converse returns a conversation in which nothing was said.
func (t *openAI) Converse() perf.Conversation { return &conversation{} }

// Ask returns the payload of a turn with the messages of all turns before it.
func (c *conversation) Ask(turn *kserve.Request) (*kserve.Request, error) {
	body, err := element(turn, openAIPayload)
	if err != nil {
		return nil, err
	}
	fields, err := members(body)
	var messages []json.RawMessage
	at := -1
	for i := range fields {
		if fields[i].name == "messages" && json.Unmarshal(fields[i].value, &messages) == nil && messages != nil {
			at = i
		}
	}
	if err != nil || at < 0 {
		return nil, fmt.Errorf("Request body must be an object and it must have a 'messages' field that is an array. Request body: %s", body)
	}
	c.history = append(c.history, messages...)
	fields[at].value = append(append([]byte("["), bytes.Join(raw(c.history), []byte(","))...), ']')
	req := &kserve.Request{ModelName: turn.ModelName, ModelVersion: turn.ModelVersion}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = openAIPayload, tensor.Bytes, tensor.Shape{1}
	in.Data = tensor.NewData(tensor.HeapBuffer(tensor.AppendElement(nil, object(fields))))
	return req, nil
}

func raw(list []json.RawMessage) [][]byte {
	all := make([][]byte, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

// Answer adds the message of the response.
func (c *conversation) Answer(x *lane.Exchange) error {
	if len(x.Responses) > 0 {
		return c.answerOfStream(x)
	}
	var r struct {
		Choices []json.RawMessage `json:"choices"`
	}
	if err := json.Unmarshal(x.Body, &r); err != nil || len(r.Choices) == 0 {
		return fmt.Errorf("Response body must be an object and have a 'choices' field that is an array with at least one element. Response body: %s", x.Body)
	}
	var choice struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(r.Choices[0], &choice); err != nil || !bytes.HasPrefix(choice.Message, []byte("{")) {
		return fmt.Errorf("Response body 'choices' field's first element must be an object and have a 'message' field that is an object. Response body: %s", x.Body)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, choice.Message); err != nil {
		return fmt.Errorf("message of the response: %w", err)
	}
	c.history = append(c.history, compact.Bytes())
	return nil
}

// answerOfStream adds the message that the chunks of a stream make up. perf_analyzer accepts
// no streams here.
func (c *conversation) answerOfStream(x *lane.Exchange) error {
	var text []byte
	for _, b := range x.Bodies {
		for line := range bytes.Lines(b) {
			value, ok := bytes.CutPrefix(line, []byte("data:"))
			var chunk struct {
				Choices []struct {
					Delta struct {
						Content string `json:"content"`
					} `json:"delta"`
				} `json:"choices"`
			}
			if ok && json.Unmarshal(value, &chunk) == nil && len(chunk.Choices) > 0 {
				text = append(text, chunk.Choices[0].Delta.Content...)
			}
		}
	}
	message, err := json.Marshal(map[string]string{"role": "assistant", "content": string(text)})
	if err != nil {
		return fmt.Errorf("message of the stream: %w", err)
	}
	c.history = append(c.history, message)
	return nil
}

// member is one field of an object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the fields of an object in their order.
func members(body []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func object(fields []member) []byte {
	b := []byte("{")
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(f.name) // a string always has a form
		b = append(append(b, name...), ':')
		b = append(b, f.value...)
	}
	return append(b, '}')
}
