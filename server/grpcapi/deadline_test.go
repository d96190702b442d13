package grpcapi_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/server/servertest"
)

// TestDeadline: a call whose deadline passes gets a status. A reset stream would look like a
// cancelled call to Python's client. The client of this test has no clock of its own.
func TestDeadline(t *testing.T) {
	t.Parallel()
	server := startServer(t, servertest.Model("slow", slow))
	message, err := proto.Marshal(slowRequest())
	require.NoError(t, err)
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)

	for _, method := range []string{"ModelInfer", "ModelStreamInfer"} {
		for _, timeout := range []string{"200m", "40000u"} {
			t.Run(method+" "+timeout, func(t *testing.T) {
				t.Parallel()
				statuses := 0
				for n, begin := 0, time.Now(); n < 10 || statuses == 0 && time.Since(begin) < time.Minute; n++ {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+server.GRPC+"/inference.GRPCInferenceService/"+method, bytes.NewReader(body))
					require.NoError(t, err)
					req.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "Grpc-Timeout": {timeout}}
					resp, err := transport.RoundTrip(req)
					if err != nil {
						continue // reset: a busy machine gave the server no time
					}
					_, err = io.ReadAll(resp.Body)
					require.NoError(t, resp.Body.Close())
					if err != nil {
						continue
					}
					status := resp.Trailer
					if status.Get("Grpc-Status") == "" {
						status = resp.Header // an answer of trailers only
					}
					require.Equal(t, "4", status.Get("Grpc-Status"))
					require.Equal(t, "Deadline Exceeded", status.Get("Grpc-Message"))
					statuses++
				}
				require.Positive(t, statuses)
			})
		}
	}
}
