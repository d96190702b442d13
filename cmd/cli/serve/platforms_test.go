package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
)

func TestPlatforms(t *testing.T) {
	t.Parallel()
	o := parse(t, "", "AIP_MODE=PREDICTION AIP_HTTP_PORT=90 AIP_PREDICT_ROUTE=/p AIP_HEALTH_ROUTE=/h AIP_STORAGE_URI=/models").Options
	require.Equal(t, [4]bool{true}, [4]bool{o.Vertex.Allow, o.HTTP.Allow, o.GRPC.Allow, o.SageMaker.Allow})
	require.Equal(t, server.Vertex{Endpoint: server.Endpoint{Allow: true, Address: "0.0.0.0", Port: 90}, PredictRoute: "/p", HealthRoute: "/h"}, o.Vertex)
	require.Equal(t, []string{"/models"}, o.Repositories)
	o = parse(t, "--allow-http 1 --vertex-ai-port 91 --model-repository /own", "AIP_MODE=PREDICTION AIP_HTTP_PORT=x AIP_STORAGE_URI=/models").Options
	require.True(t, o.HTTP.Allow)
	require.Equal(t, 91, o.Vertex.Port)
	require.Equal(t, []string{"/own"}, o.Repositories)

	o = parse(t, "", "SAGEMAKER_TRITON_PING_MODE=live SAGEMAKER_TRITON_INFERENCE_TYPE=generate SAGEMAKER_TRITON_DEFAULT_MODEL_NAME=m").Options
	require.Equal(t, [3]string{"live", "generate", "m"}, [3]string{o.SageMaker.PingMode, o.SageMaker.InferenceType, o.SageMaker.DefaultModel})
}
