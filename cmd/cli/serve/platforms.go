package serve

// onVertexAI reports whether this is a container of Vertex AI, where HTTP and gRPC
// are off unless flags turn them on.
func (o *options) onVertexAI() bool { return o.getenv("AIP_MODE") == "PREDICTION" }

// vertexDefaults sets the defaults of a Vertex AI container, which flags may change.
func (o *options) vertexDefaults() {
	v := &o.Vertex
	v.Allow = o.onVertexAI()
	if text := o.getenv("AIP_HTTP_PORT"); text != "" {
		n, err := parseInt(text)
		v.Port, o.vertexPort = int(n), err
	}
}

func (o *options) setSafePorts(v string) error {
	low, high, err := pair(v, "-", parseInt, parseInt)
	if err == nil {
		o.SageMaker.SafePorts = &[2]int{int(low), int(high)}
	}
	return err
}

// finishPlatforms reads the variables without a flag.
func (o *options) finishPlatforms() error {
	s, v := &o.SageMaker, &o.Vertex
	s.DefaultModel = o.getenv("SAGEMAKER_TRITON_DEFAULT_MODEL_NAME")
	s.PingMode = o.getenv("SAGEMAKER_TRITON_PING_MODE")
	s.InferenceType = o.getenv("SAGEMAKER_TRITON_INFERENCE_TYPE")
	if o.vertexPort != nil && !o.table.Changed("vertex-ai-port") {
		return tritonErrorf("Bad option: \"AIP_HTTP_PORT\".\n%s", o.vertexPort)
	}
	v.PredictRoute, v.HealthRoute = o.getenv("AIP_PREDICT_ROUTE"), o.getenv("AIP_HEALTH_ROUTE")
	return nil
}
