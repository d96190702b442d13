package scaffold

import (
	"bytes"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// Text returns the configuration. Explained, it has a comment before each part, and at its end
// parts that are often added.
func (m *Model) Text(explained bool) []byte {
	text := modelconfig.Encode(m.config)
	if !explained {
		return text
	}
	comments := explanations(m.config)
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		field, _, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		field = strings.TrimSuffix(field, ":")
		if c := comments[field]; c != "" {
			out.WriteByte('\n')
			comment(&out, c)
			delete(comments, field) // of a repeated field, before the first
		}
		out.WriteString(line)
	}
	for _, c := range additions(m.config) {
		out.WriteByte('\n')
		comment(&out, c)
	}
	return out.Bytes()
}

func comment(out *bytes.Buffer, text string) {
	for line := range strings.Lines(text) {
		out.WriteString("# " + strings.TrimRight(line, "\n") + "\n")
	}
}

// explanations returns the comments by field of the top level.
func explanations(c *inferencepb.ModelConfig) map[string]string {
	batching := "The model does not batch (max_batch_size is 0): dims have all dimensions.\n"
	if c.GetMaxBatchSize() > 0 {
		batching = "The shape of one row, without the dimension of the batch.\n"
	}
	all := map[string]string{
		"backend":             "What runs the model.",
		"max_batch_size":      "The largest batch, in rows. A request may have as many rows.",
		"input":               batching + "A dimension -1 is different from request to request.",
		"output":              "A request gets the outputs that it asks for, or all.",
		"dynamic_batching":    "Requests that wait are executed together. With max_queue_delay_microseconds the\nfirst of them waits for more.",
		"parameters":          "Settings of the backend. All values are texts.",
		"ensemble_scheduling": "Each step is a model, which runs as soon as its inputs are known. In both maps the key\nis the name of the step's tensor, and the value its name in the ensemble.",
	}
	if file := modelconfig.ModelFile(c); file != "" {
		all["backend"] = "What runs the model, from the file " + version + "/" + file + "."
	}
	if c.GetEnsembleScheduling() != nil {
		all["platform"] = "The model is made of others."
	}
	return all
}

// additions returns parts that are often added.
func additions(c *inferencepb.ModelConfig) []string {
	if c.GetEnsembleScheduling() != nil {
		return nil
	}
	return []string{
		"Copies of the model that run at the same time; triton analyze finds how many help.\ninstance_group [ { count: 2 kind: KIND_CPU } ]",
		"Serve the two newest version folders instead of the newest one.\nversion_policy { latest { num_versions: 2 } }",
	}
}
