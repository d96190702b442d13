package server_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/pkg/sharedtest"
	"triton/server"
	"triton/server/access/accesstest"
	"triton/server/repository"
	"triton/server/servertest"
)

// rights writes rules, and a file of one key for each owner, and configures a server with them.
func rights(t *testing.T, rules string, owners ...string) (keys map[string]string, o servertest.Option) {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy")
	file, keys := accesstest.WriteKeys(t, owners...)
	require.NoError(t, os.WriteFile(policy, []byte(rules), 0o600))
	return keys, servertest.With(func(o *server.Options) { o.Guard.Policy, o.Guard.Keys, o.Guard.Failures = policy, file, 0 })
}

func identityModel(name string) servertest.Option {
	return servertest.Model(name, servertest.Identity("INT32", "1", 0))
}

const oneInt = `{"id":"seven","inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1],"data":[5]}]}`

// sendAs sends a request and returns the status and the body.
func sendAs(t *testing.T, c *http.Client, method, url, key, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

const twoTeams = `
rules:
- {who: ['key:a'], allow: [infer, metadata], models: [a]}
- {who: ['key:shm'], allow: [infer], models: [a]}
- {who: ['key:shm'], allow: [shared-memory]}
- {who: ['key:scraper'], allow: [metrics]}
- {who: ['key:ops'], allow: ['*'], models: ['*']}
`

// TestAccess asks a whole server, at all its ports: one place decides for all of them.
func TestAccess(t *testing.T) {
	t.Parallel()
	keys, o := rights(t, twoTeams, "a", "shm", "scraper", "ops")
	audit := filepath.Join(t.TempDir(), "audit")
	s := servertest.Start(t, identityModel("a"), identityModel("b"), o, servertest.With(func(o *server.Options) {
		o.Guard.Audit.File = audit
		o.ClientSharedMemory = true
		o.SageMaker.Allow, o.SageMaker.DefaultModel = true, "a"
		o.Vertex.Allow, o.Vertex.DefaultModel, o.Vertex.PredictRoute, o.Vertex.HealthRoute = true, "a", "/predict", "/health"
	}))
	c := newClient(t)
	for _, call := range []struct {
		name, method, url, body string
		header                  []string
		want                    string // status as: anonymous a scraper ops
	}{
		{"health", "GET", s.HTTP + "/v2/health/ready", "", nil, "200 200 200 200"},
		{"infer a", "POST", s.HTTP + "/v2/models/a/infer", oneInt, nil, "401 200 403 200"},
		{"infer b", "POST", s.HTTP + "/v2/models/b/infer", oneInt, nil, "401 403 403 200"},
		{"infer missing", "POST", s.HTTP + "/v2/models/c/infer", oneInt, nil, "401 403 403 404"},
		{"metadata b", "GET", s.HTTP + "/v2/models/b", "", nil, "401 403 403 200"},
		{"encoded name", "GET", s.HTTP + "/v2/models/%62", "", nil, "401 403 403 200"},
		{"logging", "GET", s.HTTP + "/v2/logging", "", nil, "401 403 403 503"},
		{"metrics", "GET", s.Metrics + "/metrics", "", nil, "401 403 200 200"},
		{"other page of metrics", "GET", s.Metrics + "/x", "", nil, "401 403 200 200"},
		{"SageMaker health", "GET", s.SageMaker + "/ping", "", nil, "200 200 200 200"},
		{"SageMaker infer", "POST", s.SageMaker + "/invocations", oneInt, nil, "401 200 403 200"},
		{"SageMaker list", "GET", s.SageMaker + "/models", "", nil, "401 403 403 200"},
		{"SageMaker show", "GET", s.SageMaker + "/models/x", "", nil, "401 403 403 404"},
		{"SageMaker load", "POST", s.SageMaker + "/models", "{}", nil, "401 403 403 400"},
		{"SageMaker unload", "DELETE", s.SageMaker + "/models/x", "", nil, "401 403 403 404"},
		{"SageMaker invoke", "POST", s.SageMaker + "/models/x/invoke", oneInt, nil, "401 403 403 404"},
		{"Vertex health", "GET", s.Vertex + "/health", "", nil, "200 200 200 200"},
		{"Vertex infer", "POST", s.Vertex + "/predict", oneInt, nil, "401 200 403 200"},
		{"Vertex, redirected", "POST", s.Vertex + "/predict", oneInt, []string{"X-Vertex-Ai-Triton-Redirect", "v2/models/b/infer"}, "401 403 403 200"},
		{"Vertex, metrics", "POST", s.Vertex + "/predict", "", []string{"X-Vertex-Ai-Triton-Redirect", "metrics"}, "401 403 200 200"},
		{"Vertex, index", "POST", s.Vertex + "/predict", "", []string{"X-Vertex-Ai-Triton-Redirect", "v2/repository/index"}, "401 403 403 200"},
	} {
		var got []string
		for _, who := range []string{"", "a", "scraper", "ops"} {
			code, text := sendAs(t, c, call.method, "http://"+call.url, keys[who], call.body, call.header...)
			got = append(got, fmt.Sprint(code))
			for _, key := range keys {
				require.NotContains(t, text, key)
			}
		}
		require.Equal(t, call.want, strings.Join(got, " "), call.name)
	}

	// Regions of others are for those alone who may use shared memory.
	withRegion := `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}}]}`
	missing, missingText := sendAs(t, c, "POST", "http://"+s.HTTP+"/v2/models/a/infer", keys["shm"], withRegion)
	require.Equal(t, 404, missing, missingText)
	if object, err := os.CreateTemp("/dev/shm", "access"); err == nil {
		t.Cleanup(func() { os.Remove(object.Name()) })
		require.NoError(t, object.Truncate(4096))
		require.NoError(t, object.Close())
		code, text := sendAs(t, c, "POST", "http://"+s.HTTP+"/v2/systemsharedmemory/region/r/register", keys["shm"],
			fmt.Sprintf(`{"key":"/%s","offset":0,"byte_size":4}`, filepath.Base(object.Name())))
		require.Equal(t, 200, code, text)
		code, text = sendAs(t, c, "POST", "http://"+s.HTTP+"/v2/models/a/infer", keys["shm"], withRegion)
		require.Equal(t, 200, code, text)
		code, text = sendAs(t, c, "POST", "http://"+s.HTTP+"/v2/models/a/infer", keys["a"], withRegion)
		require.Equal(t, missing, code)
		require.Equal(t, missingText, text, "the answer says that the region of another exists")
	}

	_, page := sendAs(t, c, "GET", "http://"+s.Metrics+"/metrics", keys["scraper"], "")
	require.Regexp(t, `triton_access_calls_total\{result="denied"\} [1-9]`, page)

	c.CloseIdleConnections()
	s.Stop(t)
	record, err := os.ReadFile(audit)
	require.NoError(t, err)
	require.Regexp(t, `"principal":"key:a","source":"127.0.0.1:\d+","protocol":"http","method":"POST /v2/models/a/infer","action":"infer","model":"a","id":"seven","result":"allowed","status":"200"`, string(record))
	require.NotContains(t, string(record), "/v2/health/ready")
	for _, key := range keys {
		require.NotContains(t, string(record), key)
	}
}

// TestAccessStream: each request of a stream is decided about, and a key that is revoked ends the
// stream.
func TestAccessStream(t *testing.T) {
	t.Parallel()
	var file string
	keys, o := rights(t, twoTeams, "a")
	s := servertest.Start(t, identityModel("a"), identityModel("b"), o, servertest.With(func(o *server.Options) { file = o.Guard.Keys }))
	cc, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer cc.Close()
	stream, err := inferencepb.NewGRPCInferenceServiceClient(cc).ModelStreamInfer(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+keys["a"]))
	require.NoError(t, err)
	ask := func(model string) string {
		require.NoError(t, stream.Send(&inferencepb.ModelInferRequest{ModelName: model, Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{
			Name: "INPUT0", Datatype: "INT32", Shape: []int64{1}, Contents: &inferencepb.InferTensorContents{IntContents: []int32{5}},
		}}}))
		answer, err := stream.Recv()
		require.NoError(t, err)
		return answer.GetErrorMessage()
	}
	require.Empty(t, ask("a"))
	require.Equal(t, "this call is not permitted", ask("b"))
	require.Equal(t, "this call is not permitted", ask("missing"))
	require.Empty(t, ask("a"))
	require.NoError(t, os.WriteFile(file, []byte("# revoked, all of them\n"), 0o600))
	_, err = stream.Recv() // it waits for requests
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	require.ErrorContains(t, err, "the stream was ended: the credentials are not valid")
}

// forever is an input of the model "repeat" that is answered at once, and again after a day.
var forever = []*inferencepb.ModelInferRequest_InferInputTensor{
	{Name: "IN", Datatype: "INT32", Shape: []int64{2}, Contents: &inferencepb.InferTensorContents{IntContents: []int32{7, 8}}},
	{Name: "DELAY", Datatype: "UINT32", Shape: []int64{2}, Contents: &inferencepb.InferTensorContents{UintContents: []uint32{0, 24 * 3600 * 1000}}},
	{Name: "WAIT", Datatype: "UINT32", Shape: []int64{1}, Contents: &inferencepb.InferTensorContents{UintContents: []uint32{0}}},
}

// TestRevokedStreams: streams that run end when their caller loses its key, or the right to a model
// that works for them. The server, which waits for its models in the end, shows that the models
// were cancelled.
func TestRevokedStreams(t *testing.T) {
	t.Parallel()
	const rules = "rules:\n- {who: ['key:a'], allow: [infer], models: [a, repeat, endless]}\n"
	for name, c := range map[string]struct {
		revoke func(o *server.Options) error
		grpc   codes.Code
		text   string
	}{
		"key": {
			func(o *server.Options) error { return os.WriteFile(o.Guard.Keys, []byte("# revoked\n"), 0o600) },
			codes.Unauthenticated, "the stream was ended: the credentials are not valid",
		},
		"right": {
			func(o *server.Options) error {
				return os.WriteFile(o.Guard.Policy, []byte("rules:\n- {who: ['key:a'], allow: [infer], models: [a]}\n"), 0o600)
			},
			codes.PermissionDenied, "the stream was ended: this call is not permitted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opts *server.Options
			keys, o := rights(t, rules, "a")
			s := servertest.Start(t, identityModel("a"), servertest.Model("repeat", repeatModel), servertest.Model("endless", repeatModel),
				o, servertest.With(func(o *server.Options) { opts = o }))
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-api-key", keys["a"])
			stream, err := dial(t, s.GRPC).ModelStreamInfer(ctx)
			require.NoError(t, err)
			require.NoError(t, stream.Send(&inferencepb.ModelInferRequest{ModelName: "repeat", Inputs: forever}))
			answer, err := stream.Recv()
			require.NoError(t, err)
			require.Empty(t, answer.GetErrorMessage())

			events := sse(t, s.HTTP, keys["a"], `{"IN":[7,8],"DELAY":[0,86400000],"WAIT":0}`)
			require.Contains(t, events(), `"OUT":7`)
			require.NoError(t, c.revoke(opts))
			require.Equal(t, `data: {"error":"`+c.text+`"}`, events())
			require.Empty(t, events(), "the stream goes on")
			_, err = stream.Recv()
			require.Equal(t, c.grpc, status.Code(err))
			require.Equal(t, c.text, status.Convert(err).Message())
		})
	}
}

// sse begins a stream of the model "repeat" and returns a function that reads the next event; empty
// at the end.
func sse(t *testing.T, address, key, body string) func() string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v2/models/repeat/generate_stream", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-API-Key", key)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	resp, err := tr.RoundTrip(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		require.NoError(t, lines.Err())
		return ""
	}
}

// TestAccessSockets serves HTTP and gRPC over unix sockets, to whom the kernel says is calling.
func TestAccessSockets(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a path of a socket has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	rules := fmt.Sprintf("rules:\n- {who: ['uid:%d'], allow: [infer], models: [a]}\n- {who: ['gid:%d'], allow: [metadata], models: [a]}\n", os.Getuid(), os.Getgid())
	_, o := rights(t, rules)
	stale, err := net.Listen("unix", filepath.Join(dir, "http"))
	require.NoError(t, err)
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	stale.Close() // as after a crash
	sockets := servertest.With(func(o *server.Options) {
		o.HTTP.Address, o.GRPC.Address, o.Metrics.Address = "unix:"+filepath.Join(dir, "http"), "unix:"+filepath.Join(dir, "grpc"), ""
	})
	s := servertest.Start(t, identityModel("a"), o, sockets)
	info, err := os.Stat(filepath.Join(dir, "http"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode().Perm())
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.HTTP)
	}}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	for path, want := range map[string]int{"/v2/models/a": 200, "/v2/models/b": 403, "/v2/logging": 403} {
		code, text := sendAs(t, c, "GET", "http://localhost"+path, "", "")
		require.Equal(t, want, code, text)
	}
	code, text := sendAs(t, c, "POST", "http://localhost/v2/models/a/infer", "", oneInt)
	require.Equal(t, 200, code, text)
	cc, err := grpc.NewClient("unix:"+s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer cc.Close()
	g := inferencepb.NewGRPCInferenceServiceClient(cc)
	_, err = g.ModelMetadata(t.Context(), &inferencepb.ModelMetadataRequest{Name: "a"})
	require.NoError(t, err)
	_, err = g.ModelConfig(t.Context(), &inferencepb.ModelConfigRequest{Name: "a"})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	_, err = servertest.Try(t, identityModel("a"), o, sockets)
	require.ErrorContains(t, err, "another server listens at")
	cc.Close()
	tr.CloseIdleConnections()
	s.Stop(t)
	_, err = os.Stat(filepath.Join(dir, "http"))
	require.ErrorIs(t, err, os.ErrNotExist, "the socket stays")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "http"), []byte("precious"), 0o600))
	_, err = servertest.Try(t, identityModel("a"), o, sockets)
	require.ErrorContains(t, err, "exists and is no socket")
}

// TestInheritedSocket: the callers at a unix socket that a service manager opened are known as those
// at a socket of the server's own.
func TestInheritedSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a path of a socket has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "http")
	l := listener(t, "unix", path)
	_, o := rights(t, fmt.Sprintf("rules:\n- {who: ['uid:%d'], allow: [metadata], models: [a]}\n", os.Getuid()))
	servertest.Start(t, identityModel("a"), o, servertest.With(func(o *server.Options) { o.HTTP.Inherited = l }))
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	defer tr.CloseIdleConnections()
	for model, want := range map[string]int{"a": 200, "b": 403} {
		code, text := sendAs(t, &http.Client{Transport: tr}, "GET", "http://localhost/v2/models/"+model, "", "")
		require.Equal(t, want, code, text)
	}
}

// clientCertificates issues certificates with names.
type clientCertificates struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	pem  []byte
}

func newClientCertificates(t *testing.T) *clientCertificates {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	root, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &clientCertificates{key, root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func (c *clientCertificates) issue(t *testing.T, name string, ids ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, id := range ids {
		u, err := url.Parse(id)
		require.NoError(t, err)
		template.URIs = append(template.URIs, u)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, template, c.root, &key.PublicKey, c.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestAccessCertificates: the certificate of a client is its identity, its SPIFFE ID first.
func TestAccessCertificates(t *testing.T) {
	t.Parallel()
	a, clients := server.NewAuthority(t), newClientCertificates(t)
	encryption := a.Files(t, t.TempDir())
	encryption.Mutual = true
	require.NoError(t, os.WriteFile(encryption.Root, clients.pem, 0o600))
	_, o := rights(t, "rules:\n- {who: ['spiffe://example.org/web'], allow: [metadata], models: [a]}\n- {who: ['cert:ops'], allow: ['*'], models: ['*']}\n")
	s := servertest.Start(t, identityModel("a"), identityModel("b"), o, servertest.With(func(o *server.Options) {
		o.HTTP.TLS, o.GRPC.TLS, o.Metrics.TLS = encryption, encryption, encryption
	}))
	for _, c := range []struct {
		cert tls.Certificate
		want [2]bool // a, b
	}{
		{clients.issue(t, "x", "spiffe://example.org/web"), [2]bool{true, false}},
		{clients.issue(t, "x", "spiffe://example.org/web2"), [2]bool{false, false}},
		{clients.issue(t, "x", "spiffe://example.org/web", "spiffe://example.org/other"), [2]bool{false, false}}, // invalid by SPIFFE
		{clients.issue(t, "ops", "https://example.org"), [2]bool{true, true}},
		{clients.issue(t, "spiffe://example.org/web"), [2]bool{false, false}}, // a name is no ID
	} {
		config := &tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{c.cert}}
		tr := &http.Transport{TLSClientConfig: config}
		cc, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(credentials.NewTLS(config)))
		require.NoError(t, err)
		for i, model := range []string{"a", "b"} {
			code, text := sendAs(t, &http.Client{Transport: tr}, "GET", "https://"+s.HTTP+"/v2/models/"+model, "", "")
			require.Equal(t, c.want[i], code == 200, text)
			_, err = inferencepb.NewGRPCInferenceServiceClient(cc).ModelMetadata(t.Context(), &inferencepb.ModelMetadataRequest{Name: model})
			require.Equal(t, c.want[i], err == nil, err)
		}
		cc.Close()
		tr.CloseIdleConnections()
	}
}

// TestControlPort serves the calls for operation at one port, and the others there too.
func TestControlPort(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, identityModel("a"), servertest.With(func(o *server.Options) {
		o.Control = server.Endpoint{Allow: true, Address: "127.0.0.1"}
		o.Models.Control = repository.ControlExplicit
	}))
	c := newClient(t)
	code, _ := sendAs(t, c, "POST", "http://"+s.HTTP+"/v2/repository/models/a/load", "", "")
	require.Equal(t, 403, code)
	code, text := sendAs(t, c, "POST", "http://"+s.Control+"/v2/repository/models/a/load", "", "")
	require.Equal(t, 200, code, text)
	for _, at := range []string{s.HTTP, s.Control} {
		code, text = sendAs(t, c, "POST", "http://"+at+"/v2/models/a/infer", "", oneInt)
		require.Equal(t, 200, code, text)
	}
	cc, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer cc.Close()
	_, err = inferencepb.NewGRPCInferenceServiceClient(cc).RepositoryIndex(t.Context(), &inferencepb.RepositoryIndexRequest{})
	require.Equal(t, codes.PermissionDenied, status.Code(err))
}

func listener(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	require.NoError(t, err)
	return l
}

// TestUnsafe warns of each danger once, and not where there is none.
func TestUnsafe(t *testing.T) {
	if servertest.OnePort() {
		t.Skip("names the ports of all frontends")
	}
	t.Parallel()
	_, guarded := rights(t, "rules: []")
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a path of a socket has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, c := range map[string]struct {
		change servertest.Option
		want   []string
	}{
		"loopback": {servertest.With(func(*server.Options) {}), nil},
		"all addresses": {
			servertest.With(func(o *server.Options) { o.HTTP.Address = "0.0.0.0" }), []string{"other machines can reach HTTP without access control"},
		},
		"everything": {servertest.With(func(o *server.Options) {
			o.GRPC.Address, o.ClientSharedMemory, o.Models.Control = "", true, repository.ControlExplicit
		}), []string{"other machines can reach gRPC without access control", "clients may load and unload models", "clients may register shared memory"}},
		"a socket of the service manager": {servertest.With(func(o *server.Options) {
			o.HTTP.Inherited, o.HTTP.Address = listener(t, "tcp", "0.0.0.0:0"), "127.0.0.1"
		}), []string{"other machines can reach HTTP without access control"}},
		"a unix socket of the service manager": {servertest.With(func(o *server.Options) {
			o.HTTP.Inherited, o.HTTP.Address, o.Metrics.Address = listener(t, "unix", filepath.Join(dir, "http")), "0.0.0.0", "127.0.0.1"
		}), nil},
		"with rights, in plain text": {servertest.With(func(o *server.Options) {
			o.GRPC.Address, o.ClientSharedMemory = "0.0.0.0", true
		}), []string{"other machines can reach gRPC without encryption"}},
	} {
		opts := []servertest.Option{c.change}
		if strings.HasPrefix(name, "with rights") {
			opts = append(opts, guarded)
		}
		var out sharedtest.LogBuffer
		s := servertest.Start(t, append(opts, servertest.With(func(o *server.Options) {
			o.Log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
		}))...)
		s.Stop(t)
		require.Equal(t, len(c.want), strings.Count(out.String(), " See "), "%s: %s", name, out.String())
		for _, text := range c.want {
			require.Contains(t, out.String(), text, name)
		}
	}
}

// TestBadRules keep a server from starting.
func TestBadRules(t *testing.T) {
	t.Parallel()
	_, o := rights(t, "rules:\n- {who: [bob], allow: [metrics]}\n")
	_, err := servertest.Try(t, o)
	require.ErrorContains(t, err, "failed to configure access: access policy ")
	require.ErrorContains(t, err, `line 2: unknown principal "bob"`)
}

// TestOldCiphers: clients that know only TLS 1.1, or only CBC, are refused.
func TestOldCiphers(t *testing.T) {
	t.Parallel()
	a := server.NewAuthority(t)
	encryption := a.Files(t, t.TempDir())
	s := servertest.Start(t, servertest.With(func(o *server.Options) { o.HTTP.TLS, o.GRPC.TLS = encryption, encryption }))
	for name, c := range map[string]struct {
		config *tls.Config
		ok     bool
	}{
		"TLS 1.1": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
		"CBC":     {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA}}, false},
		"GCM":     {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}, true},
		"TLS 1.3": {&tls.Config{MinVersion: tls.VersionTLS13}, true},
	} {
		for _, at := range []string{s.HTTP, s.GRPC} {
			config := c.config.Clone()
			config.RootCAs, config.NextProtos = a.Pool(), []string{"h2", "http/1.1"}
			d := tls.Dialer{Config: config}
			conn, err := d.DialContext(t.Context(), "tcp", at)
			require.Equal(t, c.ok, err == nil, "%s: %v", name, err)
			if err == nil {
				conn.Close()
			}
		}
	}
}
