package server_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/servertest"
)

// TestTLS serves all three services encrypted, to clients with and without the certificate that
// mutual TLS requires.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := server.NewAuthority(t)
	for _, mutual := range []bool{false, true} {
		encryption := a.Files(t, t.TempDir())
		encryption.Mutual = mutual
		s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)), servertest.With(func(o *server.Options) {
			o.HTTP.TLS, o.GRPC.TLS, o.Metrics.TLS = encryption, encryption, encryption
		}))
		with := &tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{a.Pair(t)}}
		for _, config := range []*tls.Config{with, {RootCAs: a.Pool()}} {
			welcome := !mutual || len(config.Certificates) > 0
			tr := &http.Transport{TLSClientConfig: config}
			client := &http.Client{Transport: tr}
			for _, url := range []string{s.HTTP + "/v2/models/m/infer", s.HTTP + "/v2", s.Metrics + "/metrics"} {
				var resp *http.Response
				var err error
				if strings.HasSuffix(url, "infer") {
					resp, err = client.Post("https://"+url, "application/json", strings.NewReader(body))
				} else {
					resp, err = client.Get("https://" + url)
				}
				if !welcome {
					require.Error(t, err, url)
					continue
				}
				require.NoError(t, err, url)
				require.Equal(t, http.StatusOK, resp.StatusCode)
				require.Equal(t, 1, resp.ProtoMajor)
				var text bytes.Buffer
				_, err = text.ReadFrom(resp.Body)
				require.NoError(t, err)
				require.NotEmpty(t, text.String())
				resp.Body.Close()
			}
			tr.CloseIdleConnections()
			cc, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(credentials.NewTLS(config)))
			require.NoError(t, err)
			answer, err := inferencepb.NewGRPCInferenceServiceClient(cc).ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
			if welcome {
				require.NoError(t, err)
				require.True(t, answer.GetLive())
			} else {
				require.Equal(t, codes.Unavailable, status.Code(err))
			}
			cc.Close()
		}
		// A client that does not encrypt gets no answer of the protocol.
		resp, err := newClient(t).Get("http://" + s.HTTP + "/v2")
		if err == nil {
			require.Equal(t, http.StatusBadRequest, resp.StatusCode)
			resp.Body.Close()
		}
		s.Stop(t)
	}
}

// TestTLSMissing cannot start without certificate.
func TestTLSMissing(t *testing.T) {
	t.Parallel()
	_, err := servertest.Try(t, servertest.With(func(o *server.Options) { o.HTTP.TLS.Allow, o.HTTP.TLS.Cert = true, "/none" }))
	require.EqualError(t, err, "failed to start HTTP service: Invalid argument - server certificate: open /none: no such file or directory")
}
