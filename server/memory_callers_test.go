package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
)

// TestCallersShareMemory lets one caller hold as much of the memory for requests as it can, with unfinished
// requests over both protocols: another caller's requests are answered, large ones too.
func TestCallersShareMemory(t *testing.T) {
	t.Parallel()
	const budget = 64 << 20
	keys, o := rights(t, "rules:\n- {who: ['*'], allow: ['*'], models: ['*']}\n", "greedy", "good")
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "-1", 0)), o, servertest.With(func(o *server.Options) { o.RequestMemory = budget }))

	// HTTP: bodies are counted before they are read.
	const size = 4 << 20
	refused := 0
	for range budget / size {
		if line := unfinished(t, s.HTTP, keys["greedy"], size); strings.Contains(line, " 503 ") {
			refused++
		} else {
			require.Contains(t, line, " 100 ")
		}
	}
	require.Equal(t, budget/size/2, refused)

	c, url := newClient(t), "http://"+s.HTTP+"/v2/models/m/infer"
	resp := replyTo(t, c, url, keys["greedy"], oneInt)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, replyTo(t, c, url, keys["good"], oneInt).StatusCode)
	require.Equal(t, http.StatusOK, replyTo(t, c, url, "", oneInt).StatusCode, "callers without proof are one more")
	text, body := binaryInts(size)
	require.Equal(t, http.StatusOK, postBinary(t, url, keys["good"], text, body))
	require.Equal(t, http.StatusServiceUnavailable, postBinary(t, url, keys["greedy"], text, body))
	require.Equal(t, http.StatusBadRequest, postBinary(t, url, keys["good"], text, make([]byte, budget/2+4)), "can never fit")

	// gRPC, with the same memory.
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	require.NoError(t, err)
	defer conn.Close()
	client := inferencepb.NewGRPCInferenceServiceClient(conn)
	for owner, want := range map[string]codes.Code{"greedy": codes.ResourceExhausted, "good": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", keys[owner])
		_, err := client.ModelInfer(ctx, intsRequest(size))
		require.Equal(t, want, status.Code(err), "%s: %v", owner, err)
		require.Equal(t, want, streamCode(ctx, client, intsRequest(size)), owner)
	}
}

// unfinished begins a request whose body does not come, and returns the first line of the reply.
func unfinished(t *testing.T, addr, key string, size int) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(conn, "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", key, size)
	require.NoError(t, err)
	line := make([]byte, 16)
	_, err = io.ReadFull(conn, line)
	require.NoError(t, err)
	return string(line)
}

// binaryInts returns the text and the data of a request with that many bytes of data.
func binaryInts(size int) (text string, data []byte) {
	return fmt.Sprintf(`{"parameters":{"binary_data_output":true},"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[%d],"parameters":{"binary_data_size":%d}}]}`, size/4, size), make([]byte, size)
}

func postBinary(t *testing.T, url, key, text string, data []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, io.MultiReader(strings.NewReader(text), bytes.NewReader(data)))
	require.NoError(t, err)
	req.ContentLength = int64(len(text) + len(data))
	req.Header.Set("X-API-Key", key)
	req.Header.Set("Inference-Header-Content-Length", fmt.Sprint(len(text)))
	req.Header.Set("Expect", "100-continue")
	resp, err := newClient(t).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Logf("%s", reply)
	}
	return resp.StatusCode
}

func intsRequest(size int) *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName:        "m",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{int64(size / 4)}}},
		RawInputContents: [][]byte{binary.LittleEndian.AppendUint32(make([]byte, 0, size), 7)[:size]},
	}
}

// streamCode sends a request over a stream and returns the status of the stream.
func streamCode(ctx context.Context, client inferencepb.GRPCInferenceServiceClient, r *inferencepb.ModelInferRequest) codes.Code {
	stream, err := client.ModelStreamInfer(ctx)
	if err == nil {
		_ = stream.Send(r) // Recv has the error
		_ = stream.CloseSend()
		_, err = stream.Recv()
	}
	return status.Code(err)
}
