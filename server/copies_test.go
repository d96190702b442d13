package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/servertest"
)

// TestCopies counts the copied bytes of one request to a model that uses its input in place: none
// of the input, and of the output only replies that are small enough to be written in one piece.
func TestCopies(t *testing.T) {
	t.Parallel()
	servertest.NeedsInProcess(t, "small tensors are copied to frames")
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("FP32", "-1", 8)))
	client, rpc := newClient(t), dial(t, s.GRPC)
	for _, c := range []struct {
		size   int
		binary bool // over HTTP, else over gRPC
		client int  // bytes
	}{
		{1 << 10, true, 1 << 10},
		{1 << 20, true, 0},
		{3 << 20, true, 0},
		{1 << 10, false, 1 << 10},
		{1 << 20, false, 0},
		{3 << 20, false, 0},
	} {
		call := func() {
			if c.binary {
				binaryInfer(t, client, s.HTTP, c.size)
				return
			}
			resp, err := rpc.ModelInfer(t.Context(), message(c.size))
			require.NoError(t, err)
			require.Len(t, resp.RawOutputContents[0], c.size)
		}
		call() // large bodies grow only until the pool has memory of their size
		model, out := copied(t, client, s)
		call()
		model2, out2 := copied(t, client, s)
		require.Zero(t, model2-model, "%+v", c)
		if out2 -= out; c.binary || c.client > 0 {
			require.Equal(t, c.client, out2, "%+v", c)
		} else { // the transport's last frame may be too small to lend
			require.Less(t, out2, 2<<10, "%+v", c)
		}
	}
}

// binaryInfer sends a tensor of that many bytes and reads it back.
func binaryInfer(t testing.TB, client *http.Client, addr string, size int) {
	t.Helper()
	head := fmt.Sprintf(`{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,%d],"parameters":{"binary_data_size":%d}}],`+
		`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`, size/4, size)
	body := append([]byte(head), make([]byte, size)...)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v2/models/m/infer", bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Inference-Header-Content-Length", strconv.Itoa(len(head)))
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", got)
	require.True(t, bytes.HasSuffix(got, body[len(head):]))
}

func message(size int) *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName:        "m",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "FP32", Shape: []int64{1, int64(size / 4)}}},
		RawInputContents: [][]byte{make([]byte, size)},
	}
}

var copies = regexp.MustCompile(`(?m)^triton_tensor_bytes_copied_total\{to="(client|model)"\} (\d+)$`)

// copied reads the counters of bytes to models and to clients.
func copied(t testing.TB, client *http.Client, s *servertest.Server) (model, out int) {
	t.Helper()
	resp, err := client.Get("http://" + s.Metrics + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	found := copies.FindAllStringSubmatch(string(page), -1)
	require.Len(t, found, 2)
	out, err = strconv.Atoi(found[0][2])
	require.NoError(t, err)
	model, err = strconv.Atoi(found[1][2])
	require.NoError(t, err)
	return model, out
}
