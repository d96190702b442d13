package example

// textPipeline is an ensemble from text to a label, and the models of its steps.
func textPipeline() []model {
	return []model{
		{"tokenizer", stored("tokenizer"), []version{{number: "1", files: map[string]string{"vocab.txt": vocabulary()}}}},
		{"bert_model", stored("bert_model"), []version{{number: "1", build: buildTextClassifier}}},
		{"postprocessor", stored("postprocessor"), []version{{number: "1"}}},
		{"text_pipeline", stored("text_pipeline"), []version{{number: "1"}}},
	}
}
