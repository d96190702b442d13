package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// answer is a JSON object with a part of an answer, in the forms of OpenAI's chat completions
// and completions, of Triton's generate extension and of Hugging Face's text generation.
type answer struct {
	Choices []struct {
		Text    text    `json:"text"`
		Delta   message `json:"delta"`
		Message message `json:"message"`
	} `json:"choices"`
	TextOutput    text   `json:"text_output"`
	GeneratedText string `json:"generated_text"`
	Token         *struct {
		Text string `json:"text"`
	} `json:"token"`
	Usage *usage `json:"usage"`
}

// message is a message or a part of one. A model that reasons or calls tools generates tokens
// for these, too; genai-perf ignores them, and so takes the first token for later than it was.
type message struct {
	Content          text `json:"content"`
	Reasoning        text `json:"reasoning"`
	ReasoningContent text `json:"reasoning_content"`
	Refusal          text `json:"refusal"`
	ToolCalls        []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type usage struct {
	Prompt     *int `json:"prompt_tokens"`
	Completion *int `json:"completion_tokens"`
}

// text is a string, or a list of strings and of objects with a text.
type text string

// UnmarshalJSON reads any value; one without text is empty.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
		return nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(b, &parts) != nil {
		return nil
	}
	var texts []string
	for _, p := range parts {
		s = ""
		var object struct {
			Text string `json:"text"`
		}
		switch {
		case json.Unmarshal(p, &s) == nil:
			texts = append(texts, s)
		case json.Unmarshal(p, &object) == nil && object.Text != "":
			texts = append(texts, object.Text)
		}
	}
	*t = text(strings.Join(texts, " "))
	return nil
}

func (m *message) text() string {
	s := string(m.ReasoningContent + m.Reasoning + m.Content + m.Refusal)
	for _, c := range m.ToolCalls {
		s += c.Function.Name + c.Function.Arguments
	}
	return s
}

// parseAnswer reads a JSON value; ok is false if it is none of an answer.
func parseAnswer(b []byte) (text string, u usage, ok bool) {
	b = bytes.TrimSpace(b)
	var list []answer
	if bytes.HasPrefix(b, []byte("[")) {
		if json.Unmarshal(b, &list) != nil {
			return "", u, false
		}
	} else {
		var a answer
		if json.Unmarshal(b, &a) != nil {
			return "", u, false
		}
		list = append(list, a)
	}
	for i := range list {
		a := &list[i]
		for k := range a.Choices {
			c := &a.Choices[k]
			text += string(c.Text) + c.Delta.text() + c.Message.text()
		}
		text += string(a.TextOutput)
		if a.Token != nil { // the whole text comes with the last token
			text += a.Token.Text
		} else {
			text += a.GeneratedText
		}
		if a.Usage != nil {
			u = *a.Usage
		}
	}
	return text, u, true
}

// prompt returns the text of a request body.
func prompt(body []byte) string {
	var p struct {
		Messages []struct {
			Content text `json:"content"`
		} `json:"messages"`
		Prompt    text `json:"prompt"`
		TextInput text `json:"text_input"`
		Inputs    text `json:"inputs"`
		Input     text `json:"input"`
	}
	if json.Unmarshal(body, &p) != nil {
		return ""
	}
	var all []string
	for _, m := range p.Messages {
		all = append(all, string(m.Content))
	}
	for _, t := range []text{p.Prompt, p.TextInput, p.Inputs, p.Input} {
		if t != "" {
			all = append(all, string(t))
		}
	}
	return strings.Join(all, " ")
}
