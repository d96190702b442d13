package cli

// defineSageMaker are the flags of the front end for Amazon SageMaker; the rest
// of its settings are environment variables.
func (s *serveFlags) defineSageMaker(b *flagBook) {
	b.group("Sagemaker")
	o := &s.opts.SageMaker
	b.boolean(&o.Allow, "allow-sagemaker", "Listen for SageMaker requests.")
	s.port(b, &o.Port, "sagemaker-port", "Port for SageMaker.")
	b.choice("", "sagemaker-safe-port-range", "<low>-<high>: ports that the other services may use.", func(v string) error {
		low, high, err := pair(v, "-", parseInt, parseInt)
		if err == nil {
			o.SafePorts = &[2]int{int(low), int(high)}
		}
		return err
	})
	threads := int64(8)
	b.unused(intValue{to: &threads, min: minInt32, max: maxInt32}, "sagemaker-thread-count", "Threads for SageMaker.", noThreads)
	s.finally(func() error {
		o.DefaultModel = s.getenv("SAGEMAKER_TRITON_DEFAULT_MODEL_NAME")
		o.PingMode = s.getenv("SAGEMAKER_TRITON_PING_MODE")
		o.InferenceType = s.getenv("SAGEMAKER_TRITON_INFERENCE_TYPE")
		return nil
	})
}

// defineVertex are the flags of the front end for Vertex AI, whose containers
// say by environment variables what they want.
func (s *serveFlags) defineVertex(b *flagBook) {
	b.group("Vertex")
	o := &s.opts.Vertex
	o.Allow = s.predicting()
	b.boolean(&o.Allow, "allow-vertex-ai", "Listen for Vertex AI requests; by default where AIP_MODE is PREDICTION.")
	if text := s.getenv("AIP_HTTP_PORT"); text != "" {
		n, err := parseInt(text)
		s.finally(func() error {
			if err != nil && !b.given("vertex-ai-port") {
				return said("Bad option: \"AIP_HTTP_PORT\".\n%s", err)
			}
			return nil
		})
		o.Port = int(n)
	}
	s.port(b, &o.Port, "vertex-ai-port", "Port for Vertex AI; by default AIP_HTTP_PORT.")
	threads := int64(8)
	b.unused(intValue{to: &threads, min: minInt32, max: maxInt32}, "vertex-ai-thread-count", "Threads for Vertex AI.", noThreads)
	b.text(&o.DefaultModel, "vertex-ai-default-model", "Model of requests that name none.")
	s.finally(func() error {
		o.PredictRoute, o.HealthRoute = s.getenv("AIP_PREDICT_ROUTE"), s.getenv("AIP_HEALTH_ROUTE")
		return nil
	})
}
