package server_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"triton/repo/example"
	"triton/server"
	"triton/server/backend/onnx"
	"triton/server/servertest"
)

// Requests of several lengths and batch sizes run as one batch of a real model,
// without padding, and each gets its own part of both outputs.
func TestRaggedRequestsShareABatch(t *testing.T) {
	t.Parallel()
	needsONNX(t)
	dir := t.TempDir()
	require.NoError(t, example.Write(t.Context(), dir, example.Options{Models: []string{"ragged_share"}}))
	requests := []struct{ shape, data, sum, share string }{
		{"1,2", "1,3", "4", "0.25,0.75"},
		{"1,4", "1,1,1,1", "4", "0.25,0.25,0.25,0.25"},
		{"1,1", "7", "7", "1"},
		{"2,2", "1,1,3,5", "2,8", "0.5,0.5,0.375,0.625"},
	}
	s := servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) { o.Models.Holds.Requests = len(requests) }))
	client := newClient(t)
	var all errgroup.Group
	for _, r := range requests {
		all.Go(func() error {
			_, body, err := post(client, "http://"+s.HTTP+"/v2/models/ragged_share/infer",
				fmt.Sprintf(`{"inputs":[{"name":"VALUES","datatype":"FP32","shape":[%s],"data":[%s]}]}`, r.shape, r.data))
			for _, want := range []string{
				fmt.Sprintf(`{"name":"SUM","datatype":"FP32","shape":[%s,1],"data":[%s]}`, r.shape[:1], r.sum),
				fmt.Sprintf(`{"name":"SHARE","datatype":"FP32","shape":[%s],"data":[%s]}`, r.shape, r.share),
			} {
				if err == nil && !strings.Contains(strings.ReplaceAll(body, ".0", ""), want) {
					err = fmt.Errorf("no %s in %s", want, body)
				}
			}
			return err
		})
	}
	require.NoError(t, all.Wait())
	_, stats := get(t, client, "http://"+s.HTTP+"/v2/models/ragged_share/stats")
	require.Contains(t, stats, `"batch_stats":[{"batch_size":5,"compute_input":{"count":1,`, "all were one batch")
}

func needsONNX(t *testing.T) {
	t.Helper()
	if _, err := onnx.Find(onnx.Search{Getenv: os.Getenv, Directory: ".."}); err != nil { //nolint:forbidigo // tests are told where the library is
		t.Skip("needs the ONNX Runtime library: run make onnxruntime")
	}
}
