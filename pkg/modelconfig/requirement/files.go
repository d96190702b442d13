package requirement

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// Files returns what a backend finds wrong with the files in a version's directory, beside the
// model file.
func Files(backend string, c *modelconfig.Config, dir string) []modelconfig.Finding {
	k := checker{Config: c, backend: backend}
	if backend == "tokenizer" {
		k.vocabularyFile(dir)
	}
	return k.found
}

// Vocabulary returns the name of the tokenizer's vocabulary file; empty: it has none, because
// words are hashed.
func Vocabulary(c *inferencepb.ModelConfig) string {
	name := c.GetParameters()[vocabularyKey].GetStringValue()
	if size, err := Count(c, vocabularySizeKey); name == "" && (err != nil || size == 0) {
		return "vocab.txt"
	}
	return name
}

func (k *checker) vocabularyFile(dir string) {
	const path = `parameters["` + vocabularyKey + `"]`
	name := Vocabulary(k.ModelConfig)
	if name == "" || !modelconfig.LocalName(name) {
		return
	}
	text, err := modelconfig.ReadText(filepath.Join(dir, name))
	if err != nil {
		k.add(ruleParameters, path, "put the file into the version's folder", "reading the vocabulary: %s; or set parameter 'vocabulary_size'", err)
		return
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	for _, piece := range SpecialPieces {
		if !slices.Contains(lines, piece) {
			k.add(ruleParameters, path, "use the vocabulary of a BERT tokenizer", "the vocabulary has no line %s", piece)
			return
		}
	}
}

const ruleSample = "TRN513" // of package modelconfig, which checks what is the same for all backends

// Samples returns what a backend finds wrong with warm-up samples. No scheduler runs before it
// then, so a sample must have the controls and states that the backend reads.
func Samples(backend string, c *modelconfig.Config) []modelconfig.Finding {
	k := checker{Config: c, backend: backend}
	names := k.extras()
	for i, w := range c.GetModelWarmup() {
		for _, name := range names {
			if w.GetBatchSize() > 0 && w.GetInputs()[name] == nil {
				k.add(ruleSample, fmt.Sprintf("model_warmup[%d].inputs", i), fmt.Sprintf("add an input %q: in a warm-up no scheduler adds it", name),
					"failed to run warmup sample '%s': [request id: <id_unknown>] input '%s' is missing; ", w.GetName(), name)
			}
		}
	}
	return k.found
}

// extras returns the inputs that a scheduler adds to a request and the backend needs.
func (k *checker) extras() []string {
	var states []string
	for _, s := range k.GetSequenceBatching().GetState() {
		states = append(states, s.GetInputName())
	}
	switch k.backend {
	case "onnxruntime":
		return slices.Concat(k.controlNames(), states)
	case "sequence":
		return []string{"START", "READY"}
	case "dyna_sequence":
		return []string{"START", "END", "READY", "CORRID"}
	case "implicit_state":
		return slices.Concat([]string{"START", "END", "READY"}, states)
	}
	return nil
}
