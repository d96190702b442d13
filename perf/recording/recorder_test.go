package recording_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"triton/perf/recording"
	"triton/pkg/inferencepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is a recording in memory that can fail.
type file struct {
	mu   sync.Mutex
	b    bytes.Buffer
	fail error
}

func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	return f.b.Write(p)
}

// closed closes the recorder and returns its requests.
func closed(t *testing.T, r *recording.Recorder, f *file) []*recording.Request {
	t.Helper()
	require.NoError(t, r.Close())
	var all []*recording.Request
	_, err := recording.Read(&f.b, func(_ int, req *recording.Request) error {
		all = append(all, req)
		return nil
	})
	require.NoError(t, err)
	slices.SortFunc(all, func(a, b *recording.Request) int { return cmp.Compare(a.ArrivalUs, b.ArrivalUs) })
	return all
}

func recorder(t *testing.T, o recording.Options) (*recording.Recorder, *file) {
	t.Helper()
	f := &file{}
	r, err := recording.NewRecorder(f, o)
	require.NoError(t, err)
	return r, f
}

// httpProxy starts a proxy before a server.
func httpProxy(t *testing.T, r *recording.Recorder, server http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := httptest.NewServer(r.HTTP(at, transport))
	t.Cleanup(proxy.Close)
	return proxy
}

const infer = `{"inputs":[{"name":"X","datatype":"INT8","shape":[1,3],"data":[1,2,3]}],"parameters":{"p":true}}`

// echo answers with the body and the headers that it got.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Got", r.Header.Get("X-Sent")+" "+r.Host+" "+r.Header.Get("X-Forwarded-For")+" "+r.RequestURI)
	w.WriteHeader(http.StatusTeapot)
	_, _ = w.Write(body)
}

func post(t *testing.T, address string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, body)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	http.DefaultClient.CloseIdleConnections()
	return resp, string(text)
}

func TestHTTP(t *testing.T) {
	r, f := recorder(t, recording.Options{Program: "p", Protocol: "HTTP"})
	s := httpProxy(t, r, echo)
	resp, text := post(t, s.URL+"/v2/models/a%20b/versions/3/infer?x=1", strings.NewReader(infer), "X-Sent", "yes", "X-Forwarded-For", "me")
	require.Equal(t, http.StatusTeapot, resp.StatusCode)
	require.Equal(t, infer, text)
	require.Equal(t, "yes "+strings.TrimPrefix(s.URL, "http://")+" me /v2/models/a%20b/versions/3/infer?x=1", resp.Header.Get("X-Got"), "unchanged")

	// With binary data, chunked and compressed.
	jsonPart := `{"inputs":[{"name":"X","datatype":"INT8","shape":[2],"parameters":{"binary_data_size":2}}]}`
	_, _ = post(t, s.URL+"/v2/models/m/infer", io.MultiReader(strings.NewReader(jsonPart+"\x07\x08")), "Inference-Header-Content-Length", strconv.Itoa(len(jsonPart)))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(infer))
	require.NoError(t, z.Close())
	compressed := zipped.String()
	_, text = post(t, s.URL+"/v2/models/m/infer", strings.NewReader(compressed), "Content-Encoding", "gzip")
	require.Equal(t, compressed, text)

	// Not for inference, or not to be recorded.
	for _, path := range []string{"/v2", "/v2/models/m/generate", "/v2/repository/models/m/load", "/v2/models/m/config"} {
		_, text = post(t, s.URL+path, strings.NewReader("x"))
		require.Equal(t, "x", text)
	}
	_, text = post(t, s.URL+"/v2/models/m/infer", strings.NewReader("no JSON"))
	require.Equal(t, "no JSON", text)

	s.Close() // requests are recorded after they were answered
	require.Equal(t, recording.Counts{Recorded: 3, Failed: 1, FirstFailure: r.Counts().FirstFailure}, r.Counts())
	require.NotEmpty(t, r.Counts().FirstFailure)
	all := closed(t, r, f)
	require.Len(t, all, 3)
	require.Equal(t, "a b", all[0].Model)
	require.Equal(t, "3", all[0].ModelVersion)
	require.Equal(t, map[string]any{"p": true}, all[0].Parameters)
	require.Equal(t, []recording.Tensor{{Name: "X", DataType: "INT8", Shape: []int64{1, 3}, Data: []byte{1, 2, 3}}}, all[0].Inputs)
	require.Equal(t, []byte{7, 8}, all[1].Inputs[0].Data)
	require.Equal(t, all[0].Inputs, all[2].Inputs)
}

// TestMemory: what does not fit is forwarded and counted, and the memory is given back.
func TestMemory(t *testing.T) {
	r, f := recorder(t, recording.Options{Memory: 400})
	s := httpProxy(t, r, echo)
	for range 3 {
		long := infer + strings.Repeat(" ", 500)
		_, text := post(t, s.URL+"/v2/models/m/infer", strings.NewReader(long))
		require.Equal(t, long, text)
		_, _ = post(t, s.URL+"/v2/models/m/infer", strings.NewReader(infer))
	}
	s.Close()
	require.Equal(t, recording.Counts{Recorded: 3, TooLarge: 3}, r.Counts())
	require.Len(t, closed(t, r, f), 3)
}

func TestServerIsUnreachable(t *testing.T) {
	r, f := recorder(t, recording.Options{})
	at, err := url.Parse("http://127.0.0.1:1")
	require.NoError(t, err)
	s := httptest.NewServer(r.HTTP(at, nil))
	defer s.Close()
	resp, text := post(t, s.URL+"/v2/models/m/infer", strings.NewReader(infer))
	require.Equal(t, http.StatusBadGateway, resp.StatusCode)
	require.Contains(t, text, `{"error":"triton perf record: `)
	s.Close()
	closed(t, r, f) // whether the body was read depends on the transport
}

func TestTraceCannotBeWritten(t *testing.T) {
	_, err := recording.NewRecorder(&file{fail: errors.New("disk full")}, recording.Options{})
	require.EqualError(t, err, "disk full")
	r, f := recorder(t, recording.Options{})
	f.mu.Lock()
	f.fail = errors.New("disk full")
	f.mu.Unlock()
	s := httpProxy(t, r, echo)
	_, text := post(t, s.URL+"/v2/models/m/infer", strings.NewReader(infer))
	require.Equal(t, infer, text, "clients do not notice")
	<-r.Failed() // of the flush that comes each second
	require.ErrorContains(t, r.Close(), "disk full")
}

// grpcServer answers with what it got.
type grpcServer struct {
	inferencepb.UnimplementedGRPCInferenceServiceServer
}

func (grpcServer) ServerReady(ctx context.Context, _ *inferencepb.ServerReadyRequest) (*inferencepb.ServerReadyResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	_ = grpc.SetHeader(ctx, metadata.Pairs("got", strings.Join(md.Get("sent"), ",")))
	_ = grpc.SetTrailer(ctx, metadata.Pairs("end", "1"))
	return &inferencepb.ServerReadyResponse{Ready: true}, nil
}

func (grpcServer) ModelInfer(_ context.Context, r *inferencepb.ModelInferRequest) (*inferencepb.ModelInferResponse, error) {
	if r.GetModelName() == "bad" {
		return nil, status.Error(codes.InvalidArgument, "no such model")
	}
	return &inferencepb.ModelInferResponse{ModelName: r.GetModelName(), RawOutputContents: r.GetRawInputContents()}, nil
}

func (grpcServer) ModelStreamInfer(s inferencepb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for range 2 {
			if err := s.Send(&inferencepb.ModelStreamInferResponse{InferResponse: &inferencepb.ModelInferResponse{Id: r.GetId()}}); err != nil {
				return err
			}
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

func dial(t *testing.T, l net.Listener) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestGRPC(t *testing.T) {
	r, f := recorder(t, recording.Options{})
	upstream, front := listen(t), listen(t)
	server := grpc.NewServer()
	inferencepb.RegisterGRPCInferenceServiceServer(server, grpcServer{})
	go func() { _ = server.Serve(upstream) }()
	defer server.Stop()
	proxy := r.GRPC(dial(t, upstream), 1<<20)
	go func() { _ = proxy.Serve(front) }()
	defer proxy.Stop()
	c := inferencepb.NewGRPCInferenceServiceClient(dial(t, front))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	var header, trailer metadata.MD
	ready, err := c.ServerReady(metadata.AppendToOutgoingContext(ctx, "sent", "yes"), &inferencepb.ServerReadyRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
	require.NoError(t, err)
	require.True(t, ready.GetReady())
	require.Equal(t, []string{"yes"}, header.Get("got"))
	require.Equal(t, []string{"1"}, trailer.Get("end"))

	request := func(model string) *inferencepb.ModelInferRequest {
		return &inferencepb.ModelInferRequest{
			ModelName: model, Id: "7",
			Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "X", Datatype: "INT32", Shape: []int64{1}}},
			RawInputContents: [][]byte{binary.LittleEndian.AppendUint32(nil, 5)},
		}
	}
	resp, err := c.ModelInfer(ctx, request("m"))
	require.NoError(t, err)
	require.Equal(t, request("m").GetRawInputContents(), resp.GetRawOutputContents())
	_, err = c.ModelInfer(ctx, request("bad"))
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "no such model")

	stream, err := c.ModelStreamInfer(ctx)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, stream.Send(request("s")))
		for range 2 {
			answer, err := stream.Recv()
			require.NoError(t, err)
			require.Equal(t, "7", answer.GetInferResponse().GetId())
		}
	}
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)

	broken := request("m")
	broken.RawInputContents = nil
	broken.Inputs[0].Datatype = "NONE"
	_, err = c.ModelInfer(ctx, broken)
	require.NoError(t, err, "the server decides")

	proxy.GracefulStop() // the requests are recorded after they were passed on
	require.EqualValues(t, 1, r.Counts().Failed)
	all := closed(t, r, f)
	var models []string
	for _, req := range all {
		models = append(models, req.Model)
		require.Equal(t, []byte{5, 0, 0, 0}, req.Inputs[0].Data)
	}
	require.Equal(t, []string{"m", "bad", "s", "s", "s"}, models)
}
