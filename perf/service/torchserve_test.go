package service_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/service"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

func torchServeRequest(version, path string) *kserve.Request {
	req := &kserve.Request{ModelName: "dense net", ModelVersion: version}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "TORCHSERVE_INPUT", tensor.Bytes, tensor.Shape{1}
	in.Data = tensor.NewData(tensor.HeapBuffer(tensor.AppendElementString(nil, path)))
	return req
}

func startTorchServe(t *testing.T, answer http.HandlerFunc) perf.Target {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	target, err := service.NewTorchServe(client.Options{Address: s.URL})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	return target
}

func TestTorchServeUpload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cat.jpg")
	content := "\x00\xff--\r\n binary"
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	type upload struct{ path, content string }
	got := make(chan upload, 1)
	target := startTorchServe(t, func(w http.ResponseWriter, r *http.Request) {
		part, err := r.MultipartReader()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p, err := part.NextPart()
		if err != nil || p.FormName() != "data" {
			http.Error(w, "no part data", http.StatusBadRequest)
			return
		}
		b, _ := io.ReadAll(p)
		got <- upload{r.URL.EscapedPath(), string(b)}
		_, _ = io.WriteString(w, `{"tabby":0.4}`)
	})
	conn, err := target.Dial(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	for version, path := range map[string]string{"": "/predictions/dense%20net", "2.0": "/predictions/dense%20net/2.0"} {
		p, err := target.Prepare(torchServeRequest(version, file))
		require.NoError(t, err)
		require.NoError(t, conn.Do(t.Context(), p, &lane.Exchange{}))
		require.Equal(t, upload{path, content}, <-got)
	}
}

func TestTorchServeFailures(t *testing.T) {
	t.Parallel()
	target := startTorchServe(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"code":404,"type":"ModelNotFoundException"}`, http.StatusNotFound)
	})
	file := filepath.Join(t.TempDir(), "x")
	_, err := target.Prepare(torchServeRequest("", file))
	require.ErrorContains(t, err, "Failed to open the specified file `"+file+"`")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	p, err := target.Prepare(torchServeRequest("", file))
	require.NoError(t, err)
	conn, err := target.Dial(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	require.EqualError(t, conn.Do(t.Context(), p, &lane.Exchange{}), `inference failed with error code 404: {"code":404,"type":"ModelNotFoundException"}`)

	_, err = target.PrepareSequence(torchServeRequest("", file))
	require.Error(t, err)
	_, err = service.NewTorchServe(client.Options{Protocol: client.GRPC})
	require.EqualError(t, err, "perf_analyzer does not support gRPC protocol with TorchServe")
}
