package example

import "embed"

// textPipeline returns an ensemble from text to a label, and the models of its steps.
func textPipeline() []model {
	words := func() (files, error) { return files{"1/vocab.txt": []byte(vocabulary())}, nil }
	return []model{
		{name: "tokenizer", config: storedConfig("tokenizer"), versions: []version{{number: "1"}}, files: words},
		{name: "bert_model", config: storedConfig("bert_model"), versions: []version{{number: "1", build: buildTextClassifier}}},
		{name: "postprocessor", config: storedConfig("postprocessor"), versions: []version{{number: "1"}}},
		{name: "text_pipeline", config: storedConfig("text_pipeline"), versions: []version{{number: "1"}}, calls: in("tokenizer", "bert_model", "postprocessor")},
	}
}

//go:embed pipeline
var pipeline embed.FS

// pipelineCatalog returns an ensemble whose tokenizer and postprocessor are Python models,
// and the models of its steps.
func pipelineCatalog() []model {
	of := func(name string) func() (files, error) {
		return func() (files, error) { return folder(pipeline, "pipeline/"+name) }
	}
	tokenizer := func() (files, error) {
		all, err := folder(pipeline, "pipeline/tokenizer")
		all["1/vocab.txt"] = []byte(vocabulary())
		return all, err
	}
	return []model{
		{name: "tokenizer", files: tokenizer},
		{name: "bert_model", files: of("bert_model"), versions: []version{{number: "1", build: buildPaddedClassifier}}},
		{name: "postprocessor", files: of("postprocessor")},
		{
			name: "ensemble_pipeline", files: of("ensemble_pipeline"), versions: []version{{number: "1"}},
			calls: in("tokenizer", "bert_model", "postprocessor"),
		},
	}
}
