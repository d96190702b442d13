package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Model is one model of a scenario. Every output is the sum of the inputs plus the option add.
// The options are:
//
//	exec=100    milliseconds of an execution; exec=value: the largest first element of its inputs
//	add=1       added to the sum of the inputs
//	decoupled   the first element of a request is the number of its responses
//	gap=100     milliseconds before each response of a decoupled model
//	thread      responses of a decoupled model are sent after the execution
//	iterative   each execution subtracts 1 and reschedules the request until the value is 0
//	stream      requests are sent over a stream, as to models with "decoupled: true"
//	times       the statistics contain durations
//
// A request whose first element is -1 is answered with the error "boom"; -2 makes the execution
// fail with that error.
type Model struct {
	Name    string
	Options map[string]string
	Config  string
	head    string
}

func parseModel(text string) (Model, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Model{}, fmt.Errorf("the model has no name")
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
