package lane_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, o lane.Options) *lane.Client {
	t.Helper()
	c, err := lane.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func options(o client.Options) lane.Options { return lane.Options{Options: o} }

// infer sends one request over a lane of its own.
func infer(t *testing.T, c *lane.Client, req *kserve.Request, resp *kserve.Response) error {
	t.Helper()
	p, err := c.Prepare(req)
	require.NoError(t, err)
	defer p.Release()
	l, err := c.Dial(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	x := lane.Exchange{Keep: true}
	if err := l.Do(t.Context(), p, &x); err != nil {
		return err
	}
	return c.Decode(&x, resp)
}

func request() *kserve.Request {
	req := &kserve.Request{ModelName: "m", ModelVersion: "3", ID: `a"b`, Priority: 2, TimeoutMicros: 5}
	req.Parameters = []kserve.Parameter{
		{Name: "b", Kind: kserve.ParamBool, Bool: true},
		{Name: "i", Kind: kserve.ParamInt, Int: -1},
		{Name: "s", Kind: kserve.ParamString, String: "<x>"},
		{Name: "d", Kind: kserve.ParamDouble, Double: 0.5},
		{Name: "u", Kind: kserve.ParamUint, Uint: 1 << 63},
	}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "X", tensor.Uint8, tensor.Shape{1, 4}
	in.Data.Append(tensor.HeapBuffer([]byte("abcd")), 0, 2) // in two pieces
	in.Data.Append(tensor.HeapBuffer([]byte("abcd")), 2, 2)
	return req
}

const jsonAnswer = `{"model_name":"m","model_version":"3","id":"7","outputs":[{"name":"Y","datatype":"UINT8","shape":[1,2],"parameters":{"binary_data_size":2}},{"name":"Z","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}`

func TestHTTPInfer(t *testing.T) {
	var got, contentType, length, extra string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /base/v2/models/m/versions/3/infer", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, contentType, length, extra = string(b), r.Header.Get("Content-Type"), r.Header.Get("Inference-Header-Content-Length"), r.Header.Get("X-Extra")
		w.Header().Set("Inference-Header-Content-Length", fmt.Sprint(len(jsonAnswer)))
		_, _ = io.WriteString(w, jsonAnswer+"hi\x01\x00\x00\x00z")
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	c := newClient(t, options(client.Options{Address: s.URL + "/base/", Headers: map[string]string{"X-Extra": "1"}}))
	require.Equal(t, "HTTP", c.Protocol().String())
	for range 3 {
		var resp kserve.Response
		require.NoError(t, infer(t, c, request(), &resp))
		require.Equal(t, "7", resp.ID)
		require.Equal(t, tensor.Shape{1, 2}, resp.Output("Y").Shape)
		data, _ := resp.Output("Z").Data.Contiguous()
		require.Equal(t, "\x01\x00\x00\x00z", string(data))
		resp.Reset()
	}
	want := `{"id":"a\"b","parameters":{"priority":2,"timeout":5,"binary_data_output":true,"b":true,"i":-1,"s":"<x>","d":0.5,"u":9223372036854775808},"inputs":[{"name":"X","datatype":"UINT8","shape":[1,4],"parameters":{"binary_data_size":4}}]}`
	require.Equal(t, want+"abcd", got)
	require.Equal(t, fmt.Sprint(len(want)), length)
	require.Equal(t, "application/octet-stream", contentType)
	require.Equal(t, "1", extra)
}

// rawServer responds to each request on a connection with the next text; an empty
// one closes the connection.
func rawServer(t *testing.T, responses ...string) (address string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	connections = &atomic.Int32{}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	var next atomic.Int32
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			r := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, req.Body)
				i := int(next.Add(1)) - 1
				if i >= len(responses) || responses[i] == "" {
					break
				}
				_, _ = io.WriteString(conn, responses[i])
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String(), connections
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

func dial(t *testing.T, address string) (lane.Conn, *lane.Prepared) {
	t.Helper()
	c := newClient(t, options(client.Options{Address: address}))
	p, err := c.Prepare(request())
	require.NoError(t, err)
	l, err := c.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, p
}

func TestLaneGoesOnAfterErrors(t *testing.T) {
	address, connections := rawServer(t, fine, "HTTP/1.1 503 X\r\nContent-Length: 17\r\n\r\n{\"error\":\"later\"}", fine, "HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nboo", fine)
	l, p := dial(t, address)
	var x lane.Exchange
	require.NoError(t, l.Do(t.Context(), p, &x))
	require.GreaterOrEqual(t, x.End-x.Start, x.Send+x.Receive)
	err := l.Do(t.Context(), p, &x)
	require.EqualError(t, err, "later")
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.NoError(t, l.Do(t.Context(), p, &x))
	require.ErrorContains(t, l.Do(t.Context(), p, &x), `HTTP status 500: "boo"`)
	require.NoError(t, l.Do(t.Context(), p, &x))
	require.EqualValues(t, 1, connections.Load())
}

func TestLaneConnectsAgainWhenTheServerHungUp(t *testing.T) {
	address, connections := rawServer(t, fine, "", fine, strings.Replace(fine, "\r\n", "\r\nConnection: close\r\n", 1), fine)
	l, p := dial(t, address)
	var x lane.Exchange
	for range 4 {
		require.NoError(t, l.Do(t.Context(), p, &x))
	}
	require.GreaterOrEqual(t, connections.Load(), int32(2))
	require.ErrorIs(t, l.Do(t.Context(), p, &x), io.EOF, "once, not for ever")
}

func TestLaneDoesNotRepeatWhatWasAnswered(t *testing.T) {
	address, _ := rawServer(t, fine, "HTTP/1.1 200 OK\r\nContent-", fine)
	l, p := dial(t, address)
	var x lane.Exchange
	require.NoError(t, l.Do(t.Context(), p, &x))
	go func() { time.Sleep(50 * time.Millisecond); _ = l.Close() }()
	require.Error(t, l.Do(t.Context(), p, &x))
	require.ErrorIs(t, l.Do(t.Context(), p, &x), net.ErrClosed)
}

func TestLargeRequestsAreNotCopied(t *testing.T) {
	big := make([]byte, 300<<10)
	var sum atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		sum.Add(n)
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	c := newClient(t, options(client.Options{Address: s.URL}))
	req := &kserve.Request{ModelName: "m"}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "X", tensor.Uint8, tensor.Shape{int64(2 * len(big))}
	in.Data.Append(tensor.HeapBuffer(big), 0, len(big))
	in.Data.Append(tensor.HeapBuffer(big), 0, len(big))
	p, err := c.Prepare(req)
	require.NoError(t, err)
	require.Greater(t, p.Size(), 2*len(big))
	l, err := c.Dial(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	var x lane.Exchange
	for range 2 {
		require.NoError(t, l.Do(t.Context(), p, &x))
	}
	require.Greater(t, sum.Load(), int64(4*len(big)))
	p.Release()
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	for _, o := range []client.Options{
		{Address: "ftp://x"},
		{Address: "http://u:p@x"},
		{Address: "http://x?q"},
		{Address: "http://x", TLS: &tls.Config{}},
		{Address: "http://"},
		{Address: "http://a b"},
		{Address: "a:1", Headers: map[string]string{"X": "a\r\nb"}},
		{Address: "a:1", Headers: map[string]string{"": "x"}},
		{Protocol: client.GRPC},
		{Protocol: client.GRPC, Address: "http://x:1"},
		{Protocol: client.GRPC, Address: "grpc://x:1", TLS: &tls.Config{}},
	} {
		_, err := lane.New(options(o))
		require.Error(t, err, "%+v", o)
	}
	c, err := lane.New(options(client.Options{Address: "127.0.0.1:1"}))
	require.NoError(t, err)
	_, err = c.Dial(t.Context())
	require.ErrorContains(t, err, "HTTP client failed: Couldn't connect to server")
	_, err = c.Prepare(&kserve.Request{Raw: true})
	require.Error(t, err)
	require.NoError(t, c.Close())
}

type service struct {
	inferencepb.UnimplementedGRPCInferenceServiceServer
	last  *inferencepb.ModelInferRequest
	extra []string
	fail  error
}

func (s *service) ModelInfer(ctx context.Context, r *inferencepb.ModelInferRequest) (*inferencepb.ModelInferResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.last, s.extra = r, md.Get("x-extra")
	if s.fail != nil {
		return nil, s.fail
	}
	return &inferencepb.ModelInferResponse{
		ModelName: "m", Id: r.GetId(),
		Outputs:           []*inferencepb.ModelInferResponse_InferOutputTensor{{Name: "Y", Datatype: "UINT8", Shape: []int64{1, 4}}},
		RawOutputContents: r.GetRawInputContents(),
	}, nil
}

func startGRPC(t *testing.T) (*service, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, g := &service{}, grpc.NewServer()
	inferencepb.RegisterGRPCInferenceServiceServer(g, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	return s, l.Addr().String()
}

func TestGRPCLaneCloses(t *testing.T) {
	_, address := startGRPC(t)
	c := newClient(t, options(client.Options{Protocol: client.GRPC, Address: address}))
	p, err := c.Prepare(request())
	require.NoError(t, err)
	l, err := c.Dial(t.Context())
	require.NoError(t, err)
	var x lane.Exchange
	require.NoError(t, l.Do(t.Context(), p, &x))
	require.Positive(t, x.End-x.Start)
	require.NoError(t, l.Close())
	require.ErrorContains(t, l.Do(t.Context(), p, &x), "closed")
	_, err = c.Prepare(&kserve.Request{Raw: true})
	require.Error(t, err)

	down := newClient(t, options(client.Options{Protocol: client.GRPC, Address: "127.0.0.1:1"}))
	l, err = down.Dial(t.Context())
	require.NoError(t, err, "the request holds the error")
	require.ErrorContains(t, l.Do(t.Context(), p, &x), "failed to connect to all addresses")
	require.NoError(t, l.Close())
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	c, err := lane.New(options(client.Options{Address: "a:1"}))
	require.NoError(t, err)
	for _, x := range []lane.Exchange{
		{Body: []byte("{}"), JSONLen: 3},
		{Body: []byte("{"), JSONLen: 1},
		{Body: []byte(`{"outputs":[{"name":"Y","datatype":"UINT8","shape":[1],"data":["a"]}]}`), JSONLen: 70},
		{Body: []byte(`{"outputs":[{"name":"Y","datatype":"FP16","shape":[1],"data":[1]}]}`), JSONLen: 67},
		{Body: []byte(jsonAnswer), JSONLen: len(jsonAnswer)},
		{Body: []byte(`{"outputs":[{"name":"Y","datatype":"X","parameters":{"binary_data_size":0}}]}`), JSONLen: 77},
	} {
		var resp kserve.Response
		require.Error(t, c.Decode(&x, &resp), "%s", x.Body)
		resp.Reset()
	}
}
