package server_test

import (
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
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
	"triton/server/trace"
)

// TestExitTimeoutIsReported: clients of requests that take longer than the exit timeout get an
// error before their connections end.
func TestExitTimeoutIsReported(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)+
		"parameters { key: \"execute_delay_ms\" value { string_value: \"600000\" } }\ninstance_group { kind: KIND_CPU count: 1 }\n"),
		servertest.With(func(o *server.Options) { o.ExitTimeout = 100 * time.Millisecond }))
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	const each = 2
	answers := make(chan string, 2*each)
	for range each {
		go func() {
			_, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
				ModelName:        "m",
				Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1, 4}}},
				RawInputContents: [][]byte{make([]byte, 16)},
			})
			answers <- fmt.Sprint(grpcstatus.Code(err) == codes.Unavailable, " ", grpcstatus.Convert(err).Message())
		}()
		go func() {
			resp, err := http.Post("http://"+s.HTTP+"/v2/models/m/infer", "application/json", strings.NewReader(body))
			if err != nil {
				answers <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			answers <- fmt.Sprint(resp.StatusCode == http.StatusServiceUnavailable, " ", string(text))
		}()
	}
	require.Eventually(t, func() bool { return taken(t, s) == 2*each-1 }, time.Minute, 5*time.Millisecond)
	s.Interrupt()
	for range 2 * each {
		require.Regexp(t, "^true .* stop", <-answers)
	}
	require.ErrorContains(t, s.Wait(), "Exit timeout expired")
}

// TestKillWaitsForNoReceiver: a receiver of spans that does not answer does not keep a server that was
// killed. How long Shutdown waits is tested in package trace.
func TestKillWaitsForNoReceiver(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	require.NoError(t, err)
	defer silent.Close()
	config, err := trace.ParseConfig([]string{
		"mode=opentelemetry", "level=TIMESTAMPS", "rate=1", "opentelemetry,url=http://" + silent.Addr().String() + "/v1/traces",
	})
	require.NoError(t, err)
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.Trace.Config = config }))
	code, _, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/m/infer", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	s.Kill()
	require.ErrorIs(t, s.Wait(), server.ErrKilled)
}
