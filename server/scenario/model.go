package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Model is one model of a scenario. Its backend answers every output with the sum of the
// inputs plus the option add. The options:
//
//	exec=100    an execution takes 100 ms; exec=value: as many as the largest first element of its inputs
//	add=1       see above
//	decoupled   the first element of a request is how many responses it gets: 0, 1, 2, ...
//	gap=100     milliseconds before each of them
//	thread      they are sent after the execution
//	iterative   a request is answered with one less and rescheduled until that is 0
//	stream      it is called over a stream, as those are that say "decoupled: true"
//	times       the statistics show how long things took
//
// A request whose first element is -1 is answered with the error "boom"; -2
// makes the execution fail with it.
type Model struct {
	Name    string
	Options map[string]string
	Config  string
	head    string
}

func parseModel(text string) (Model, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Model{}, fmt.Errorf("a model has a name")
	}
	m := Model{Name: words[0], Options: map[string]string{}, head: text}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		m.Options[key] = value
	}
	return m, nil
}

// Ensemble reports whether the model is an ensemble.
func (m *Model) Ensemble() bool { return strings.Contains(m.Config, `"ensemble"`) }

// Batching reports whether its tensors have a batch dimension.
func (m *Model) Batching() bool { return strings.Contains(m.Config, "max_batch_size: ") }

// Streams reports whether its requests may have any number of responses.
func (m *Model) Streams() bool {
	_, set := m.Options["stream"]
	return set || strings.Contains(m.Config, "decoupled: true")
}

// Instances returns a lower bound of the number of its instances.
func (m *Model) Instances() int {
	if strings.Contains(m.Config, "count: ") && !strings.Contains(m.Config, "count: 1 ") {
		return 2
	}
	return 1
}

const tensors = `input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
`

var (
	// input matches a configuration with its own inputs.
	input = regexp.MustCompile(`(?m)^input \{`)
	// step matches the name of a model in an ensemble.
	step = regexp.MustCompile(`model_name: "`)
)

// Write writes the model to a repository, under its name with a prefix.
func (m *Model) Write(repository, prefix, backend, file string) error {
	text := step.ReplaceAllString(m.Config, `${0}`+prefix)
	if !input.MatchString(text) {
		text += tensors
	}
	if !m.Ensemble() {
		text += fmt.Sprintf("backend: %q\n", backend)
		for key, value := range m.Options {
			text += fmt.Sprintf("parameters { key: %q value { string_value: %q } }\n", key, value)
		}
		if !strings.Contains(text, "instance_group") {
			text += "instance_group { kind: KIND_CPU }\n"
		}
	}
	dir := filepath.Join(repository, prefix+m.Name)
	if err := os.MkdirAll(filepath.Join(dir, "1"), 0o755); err != nil {
		return err
	}
	if file != "" && !m.Ensemble() {
		if err := os.WriteFile(filepath.Join(dir, "1", "model.py"), []byte(file), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(text), 0o644)
}
