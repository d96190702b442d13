package example

// textPipeline returns an ensemble from text to a label, and the models of its steps.
func textPipeline() []model {
	return []model{
		{name: "tokenizer", config: storedConfig("tokenizer"), versions: []version{{number: "1", files: map[string]string{"vocab.txt": vocabulary()}}}},
		{name: "bert_model", config: storedConfig("bert_model"), versions: []version{{number: "1", build: buildTextClassifier}}},
		{name: "postprocessor", config: storedConfig("postprocessor"), versions: []version{{number: "1"}}},
		{name: "text_pipeline", config: storedConfig("text_pipeline"), versions: []version{{number: "1"}}},
	}
}
