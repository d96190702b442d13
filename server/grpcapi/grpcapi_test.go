package grpcapi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestInferWithGeneratedClient(t *testing.T) {
	t.Parallel()
	c := inferencepb.NewGRPCInferenceServiceClient(start(t, newStub()))
	big := make([]byte, 500<<10)
	for i := range big {
		big[i] = byte(i >> 3)
	}
	for _, data := range [][]byte{nil, []byte("abcd"), big} {
		resp, err := c.ModelInfer(context.Background(), &inferencepb.ModelInferRequest{
			ModelName: "echo", Id: "42",
			Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
				{Name: "A", Datatype: "UINT8", Shape: []int64{int64(len(data))}},
				{Name: "B", Datatype: "FP16", Shape: []int64{1, 1}},
			},
			RawInputContents: [][]byte{data, {1, 2}},
		})
		require.NoError(t, err)
		require.Equal(t, "echo", resp.GetModelName())
		require.Equal(t, "1", resp.GetModelVersion())
		require.Equal(t, "42", resp.GetId())
		require.Equal(t, "A", resp.GetOutputs()[0].GetName())
		require.Equal(t, "FP16", resp.GetOutputs()[1].GetDatatype())
		require.Equal(t, []int64{1, 1}, resp.GetOutputs()[1].GetShape())
		require.Len(t, resp.GetRawOutputContents(), 2)
		require.Equal(t, string(data), string(resp.GetRawOutputContents()[0]))
		require.Equal(t, []byte{1, 2}, resp.GetRawOutputContents()[1])
	}
}
