package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/server"
	"triton/server/grpcapi"
	"triton/server/servertest"
)

const inferencePath = "/inference.GRPCInferenceService/"

func onePort(o *server.Options) {
	o.OnePort, o.GRPC.Frontend.Transport = true, grpcapi.TransportBuiltin
}

// webAnswer is a response of gRPC-Web.
type webAnswer struct {
	http     int
	header   http.Header
	messages [][]byte
	trailer  map[string]string
}

// asWeb sends a call of gRPC-Web with some messages.
func asWeb(t *testing.T, c *http.Client, url string, text bool, header http.Header, messages ...proto.Message) webAnswer {
	t.Helper()
	var body []byte
	for _, m := range messages {
		b, err := proto.Marshal(m)
		require.NoError(t, err)
		frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
		if text {
			frame = base64.StdEncoding.AppendEncode(nil, frame) // padded, each
		}
		body = append(body, frame...)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	kind := "application/grpc-web+proto"
	if text {
		kind = "application/grpc-web-text+proto"
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Content-Type", kind)
	resp, err := c.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, kind, resp.Header.Get("Content-Type"), string(all))
	a := webAnswer{http: resp.StatusCode, header: resp.Header}
	if text {
		all = unpad(t, all)
	}
	for len(all) > 0 {
		n := binary.BigEndian.Uint32(all[1:])
		frame := all[5 : 5+n]
		if all[0]&0x80 == 0 {
			require.Nil(t, a.trailer, "a message behind the trailer")
			a.messages = append(a.messages, frame)
		} else {
			a.trailer = map[string]string{}
			for line := range strings.SplitSeq(strings.TrimSuffix(string(frame), "\r\n"), "\r\n") {
				name, value, _ := strings.Cut(line, ": ")
				a.trailer[name] = value
			}
		}
		all = all[5+n:]
	}
	require.NotNil(t, a.trailer)
	return a
}

// unpad decodes pieces of base64 that are padded each.
func unpad(t *testing.T, all []byte) (plain []byte) {
	t.Helper()
	for i := 0; i < len(all); i += 4 {
		var err error
		plain, err = base64.StdEncoding.AppendDecode(plain, all[i:i+4])
		require.NoError(t, err)
	}
	return plain
}

func ints(values ...int32) *inferencepb.ModelInferRequest {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
	}
	return &inferencepb.ModelInferRequest{
		ModelName: "m", Id: "7", RawInputContents: [][]byte{raw},
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{int64(len(values))}}},
	}
}

// httpClients returns clients of HTTP/1 and HTTP/2.
func httpClients(t *testing.T, config *tls.Config) map[string]*http.Client {
	t.Helper()
	all := map[string]*http.Client{}
	for name, set := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2.0": func(p *http.Protocols) { p.SetHTTP2(config != nil); p.SetUnencryptedHTTP2(config == nil) },
	} {
		protocols := &http.Protocols{}
		set(protocols)
		tr := &http.Transport{Protocols: protocols, TLSClientConfig: config.Clone()}
		t.Cleanup(tr.CloseIdleConnections)
		all[name] = &http.Client{Transport: tr}
	}
	return all
}

// TestOnePort: one port answers requests of the REST API and gRPC-Web over HTTP/1 and HTTP/2, and calls of gRPC.
func TestOnePort(t *testing.T) {
	t.Parallel()
	a := server.NewAuthority(t)
	for name, encryption := range map[string]func() server.TLS{
		"plain":  func() server.TLS { return server.TLS{} },
		"TLS":    func() server.TLS { return a.Files(t, t.TempDir()) },
		"mutual": func() server.TLS { f := a.Files(t, t.TempDir()); f.Mutual = true; return f },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "-1", 0)), servertest.Model("repeat", repeatModel),
				servertest.With(onePort), servertest.With(func(o *server.Options) { o.HTTP.TLS = encryption() }))
			require.Equal(t, s.HTTP, s.GRPC)
			scheme, config, creds := "http://", (*tls.Config)(nil), insecure.NewCredentials()
			if name != "plain" {
				scheme, config = "https://", &tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{a.Pair(t)}}
				creds = credentials.NewTLS(config)
			}
			cc, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(creds))
			require.NoError(t, err)
			defer cc.Close()
			rpc := inferencepb.NewGRPCInferenceServiceClient(cc)
			answer, err := rpc.ModelInfer(t.Context(), ints(1, 2, 3))
			require.NoError(t, err)
			require.Equal(t, ints(1, 2, 3).RawInputContents, answer.RawOutputContents)
			for proto, client := range httpClients(t, config) {
				checkOnePort(t, client, scheme+s.HTTP, proto)
			}
		})
	}
}

func checkOnePort(t *testing.T, client *http.Client, url, protocol string) {
	t.Helper()
	// The REST API.
	resp, err := client.Get(url + "/v2/health/ready")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, []any{http.StatusOK, protocol}, []any{resp.StatusCode, resp.Proto})
	many := `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[200000],"data":[` + strings.Repeat("1,", 199999) + `2]}]}`
	resp, err = client.Post(url+"/v2/models/m/infer", "application/json", strings.NewReader(many))
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode, string(text[:min(len(text), 200)]))
	require.True(t, bytes.HasSuffix(text, []byte(`,1,2]}]}`)))
	resp, err = client.Get(url + "/v2/nothing")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusNotFound, resp.StatusCode)

	for _, base64 := range []bool{false, true} {
		// A unary call, and one with a long message.
		a := asWeb(t, client, url+inferencePath+"ModelInfer", base64, nil, ints(5))
		require.Equal(t, map[string]string{"grpc-status": "0"}, a.trailer)
		require.Len(t, a.messages, 1)
		var got inferencepb.ModelInferResponse
		require.NoError(t, proto.Unmarshal(a.messages[0], &got))
		require.Equal(t, "7", got.Id)
		require.Equal(t, ints(5).RawInputContents, got.RawOutputContents)
		long := ints(make([]int32, 1<<20)...)
		a = asWeb(t, client, url+inferencePath+"ModelInfer", base64, nil, long)
		require.Equal(t, "0", a.trailer["grpc-status"])
		require.NoError(t, proto.Unmarshal(a.messages[0], &got))
		require.True(t, bytes.Equal(long.RawInputContents[0], got.RawOutputContents[0]))

		// Errors.
		unknown := ints(5)
		unknown.ModelName = "none"
		a = asWeb(t, client, url+inferencePath+"ModelInfer", base64, nil, unknown)
		require.Equal(t, "5", a.trailer["grpc-status"])
		require.Contains(t, a.trailer["grpc-message"], "unknown model: 'none' is not found")
		require.Empty(t, a.messages)
		require.Equal(t, "12", asWeb(t, client, url+inferencePath+"None", base64, nil, unknown).trailer["grpc-status"])
		a = asWeb(t, client, url+inferencePath+"ServerLive", base64, http.Header{"Grpc-Timeout": {"1x"}}, &inferencepb.ServerLiveRequest{})
		require.Equal(t, "13", a.trailer["grpc-status"])
		require.Equal(t, "13", asWeb(t, client, url+inferencePath+"ServerLive", base64, nil).trailer["grpc-status"], "no message")

		// Streams: of one message and of several.
		a = asWeb(t, client, url+inferencePath+"ModelStreamInfer", base64, nil, repeat(0, 0, 0))
		require.Equal(t, "0", a.trailer["grpc-status"])
		require.Len(t, a.messages, 3)
		a = asWeb(t, client, url+inferencePath+"ModelStreamInfer", base64, nil, ints(1), ints(2), ints(3))
		require.Len(t, a.messages, 3)

		// A time limit.
		a = asWeb(t, client, url+inferencePath+"ModelStreamInfer", base64, http.Header{"Grpc-Timeout": {"50m"}}, repeat(60_000))
		require.Equal(t, "4", a.trailer["grpc-status"])
	}
}

// repeat asks the model repeat for a response after each of some times in milliseconds.
func repeat(delays ...uint32) *inferencepb.ModelInferRequest {
	in, raw := make([]byte, 4*len(delays)), []byte(nil)
	for _, d := range delays {
		raw = binary.LittleEndian.AppendUint32(raw, d)
	}
	tensor := func(name, kind string, n int) *inferencepb.ModelInferRequest_InferInputTensor {
		return &inferencepb.ModelInferRequest_InferInputTensor{Name: name, Datatype: kind, Shape: []int64{int64(n)}}
	}
	return &inferencepb.ModelInferRequest{
		ModelName: "repeat", RawInputContents: [][]byte{in, raw, make([]byte, 4)},
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{tensor("IN", "INT32", len(delays)), tensor("DELAY", "UINT32", len(delays)), tensor("WAIT", "UINT32", 1)},
	}
}

// TestOnePortRights: keys count at the one port as at two.
func TestOnePortRights(t *testing.T) {
	t.Parallel()
	keys, guard := rights(t, "rules:\n- {who: ['key:app'], allow: [infer], models: [m]}\n", "app", "other")
	s := servertest.Start(t, identityModel("m"), guard, servertest.With(onePort))
	for _, client := range httpClients(t, nil) {
		call := func(method, key string, m proto.Message) string {
			header := http.Header{}
			if key != "" {
				header.Set("Authorization", "Bearer "+key)
			}
			return asWeb(t, client, "http://"+s.HTTP+inferencePath+method, false, header, m).trailer["grpc-status"]
		}
		require.Equal(t, "0", call("ModelInfer", keys["app"], ints(5)))
		require.Equal(t, "7", call("ModelInfer", keys["other"], ints(5)))
		require.Equal(t, "16", call("ModelInfer", "", ints(5)))
		code, _ := sendAs(t, client, http.MethodPost, "http://"+s.HTTP+"/v2/models/m/infer", keys["app"], oneInt)
		require.Equal(t, http.StatusOK, code)
		code, _ = sendAs(t, client, http.MethodPost, "http://"+s.HTTP+"/v2/models/m/infer", keys["other"], oneInt)
		require.Equal(t, http.StatusForbidden, code)
	}
}

// TestOnePortOrigins: browsers may call from the allowed origins only.
func TestOnePortOrigins(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, identityModel("m"), servertest.With(onePort), servertest.With(func(o *server.Options) { o.HTTP.Origins = []string{"https://a.example"} }))
	none := servertest.Start(t, identityModel("m"), servertest.With(onePort))
	for _, client := range httpClients(t, nil) {
		for _, c := range []struct {
			address, origin string
			allowed         bool
		}{{s.HTTP, "https://a.example", true}, {s.HTTP, "https://b.example", false}, {none.HTTP, "https://a.example", false}} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, "http://"+c.address+inferencePath+"ModelInfer", nil)
			require.NoError(t, err)
			req.Header.Set("Origin", c.origin)
			req.Header.Set("Access-Control-Request-Method", "POST")
			req.Header.Set("Access-Control-Request-Headers", "content-type,x-grpc-web")
			resp, err := client.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			a := asWeb(t, client, "http://"+c.address+inferencePath+"ServerLive", false, http.Header{"Origin": {c.origin}}, &inferencepb.ServerLiveRequest{})
			if !c.allowed {
				require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin")+a.header.Get("Access-Control-Allow-Origin"))
				continue
			}
			require.Equal(t, c.origin, resp.Header.Get("Access-Control-Allow-Origin"))
			require.Equal(t, "POST", resp.Header.Get("Access-Control-Allow-Methods"))
			require.Equal(t, "content-type,x-grpc-web", resp.Header.Get("Access-Control-Allow-Headers"))
			require.Equal(t, c.origin, a.header.Get("Access-Control-Allow-Origin"))
			require.Contains(t, a.header.Get("Access-Control-Expose-Headers"), "grpc-status")
		}
	}
}

// TestOnePortDrains: a server that ends answers what it has accepted, of every protocol.
func TestOnePortDrains(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("repeat", repeatModel), servertest.With(onePort), servertest.With(func(o *server.Options) { o.ExitTimeout = time.Minute }))
	cc, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer cc.Close()
	stream, err := inferencepb.NewGRPCInferenceServiceClient(cc).ModelStreamInfer(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(repeat(0, 1000)))
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.NoError(t, err)
	var bodies []io.ReadCloser
	for _, client := range httpClients(t, nil) {
		resp, err := client.Do(webRequest(t, t.Context(), "http://"+s.HTTP+inferencePath+"ModelStreamInfer", repeat(0, 1000)))
		require.NoError(t, err)
		_, err = io.ReadFull(resp.Body, make([]byte, 5)) // the first response has begun to arrive
		require.NoError(t, err)
		bodies = append(bodies, resp.Body)
	}
	s.Interrupt()
	_, err = stream.Recv()
	require.NoError(t, err)
	for _, body := range bodies {
		rest, err := io.ReadAll(body)
		require.NoError(t, err)
		body.Close()
		require.Contains(t, string(rest), "grpc-status: 0\r\n")
	}
	require.NoError(t, s.Wait())
}

// webRequest returns a request of gRPC-Web.
func webRequest(t *testing.T, ctx context.Context, url string, m proto.Message) *http.Request {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/grpc-web")
	return req
}

// TestOnePortCanceled: a client that leaves cancels its call.
func TestOnePortCanceled(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("repeat", repeatModel), servertest.With(onePort))
	for _, client := range httpClients(t, nil) {
		ctx, cancel := context.WithCancel(t.Context())
		req := webRequest(t, ctx, "http://"+s.HTTP+inferencePath+"ModelStreamInfer", repeat(3_600_000))
		time.AfterFunc(100*time.Millisecond, cancel)
		_, err := client.Do(req)
		require.Error(t, err)
	}
	s.Stop(t) // waits for the calls
}

// TestOnePortNeeds: what the options exclude.
func TestOnePortNeeds(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*server.Options){
		"--http-grpc-one-port needs --grpc-transport=builtin":   func(o *server.Options) { o.GRPC.Frontend.Transport = grpcapi.TransportGRPC },
		"--http-grpc-one-port needs --allow-http":               func(o *server.Options) { o.HTTP.Allow = false },
		"--http-grpc-one-port: the port has the encryption of ": func(o *server.Options) { o.GRPC.TLS.Allow = true },
	} {
		_, err := servertest.Try(t, servertest.With(onePort), servertest.With(change))
		require.ErrorContains(t, err, want)
	}
}
