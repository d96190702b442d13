// Package wire holds the common parts of the user client and the load generator's
// lanes: addresses, TLS, dialing and errors. It sends no request.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Endpoint is the address of a server's HTTP frontend.
type Endpoint struct {
	Host    string      // as in the Host header
	Path    string      // before /v2, without a slash at its end
	Address string      // host:port to dial
	TLS     *tls.Config // nil: plain HTTP
}

// ParseHTTP parses host:port or a URL. An https URL or a config selects TLS.
func ParseHTTP(address string, config *tls.Config) (*Endpoint, error) {
	text, scheme := address, "http"
	if config != nil {
		scheme = "https"
	}
	if !strings.Contains(address, "://") {
		text = scheme + "://" + address
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("server address %q: %w", address, err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("server address %q: give host:port or an http or https URL", address)
	case u.Scheme == "http" && config != nil:
		return nil, fmt.Errorf("server address %q: TLS is configured, use https", address)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("server address %q: give scheme, host, port and path only", address)
	}
	e := &Endpoint{Host: u.Host, Path: strings.TrimSuffix(u.EscapedPath(), "/"), Address: u.Host}
	port := "80"
	if u.Scheme == "https" {
		port, e.TLS = "443", clientTLS(config, u.Hostname())
	}
	if u.Port() == "" {
		e.Address = net.JoinHostPort(u.Hostname(), port)
	}
	return e, nil
}

// clientTLS returns a copy of config, or of the default, with a server name.
func clientTLS(config *tls.Config, host string) *tls.Config {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName = host
	}
	return config
}

// WriteBuffers writes buffers, with one system call where the system can.
func WriteBuffers(conn net.Conn, b *net.Buffers) error {
	_, err := b.WriteTo(vectored(conn))
	return err
}

// URL returns the URL of a path that begins with /v2.
func (e *Endpoint) URL(path string) string {
	scheme := "http://"
	if e.TLS != nil {
		scheme = "https://"
	}
	return scheme + e.Host + e.Path + path
}

// ModelPath returns the path of a model's resources.
func ModelPath(model, version string) string {
	p := "/v2/models/" + url.PathEscape(model)
	if version != "" {
		p += "/versions/" + url.PathEscape(version)
	}
	return p
}

// CheckHeaders rejects headers that HTTP cannot carry.
func CheckHeaders(headers map[string]string) error {
	for name, value := range headers {
		if name == "" || strings.ContainsAny(name+value, "\r\n") || strings.ContainsAny(name, ": ") {
			return fmt.Errorf("header %q: not a valid HTTP header", name)
		}
	}
	return nil
}

// Target is the address of a server's gRPC frontend.
type Target struct {
	name     string
	endpoint string // in the name
	creds    credentials.TransportCredentials
}

// String returns the target in grpc-go's syntax.
func (t Target) String() string { return t.name }

// ParseGRPC parses host:port, optionally with grpc:// or grpcs:// in front, or a target with the name of a
// resolver, such as dns:///host:port. grpcs://, or a config, selects TLS.
func ParseGRPC(address string, config *tls.Config) (Target, error) {
	addr, plain := strings.CutPrefix(address, "grpc://")
	addr, secure := strings.CutPrefix(addr, "grpcs://")
	name, endpoint, err := resolved(addr)
	switch {
	case err != nil:
		return Target{}, fmt.Errorf("server address %q: %w", address, err)
	case plain && config != nil:
		return Target{}, fmt.Errorf("server address %q: TLS is configured, use grpcs", address)
	case !secure && config == nil:
		return Target{name, endpoint, insecure.NewCredentials()}, nil
	}
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		host = endpoint
	}
	return Target{name, endpoint, credentials.NewTLS(clientTLS(config, host))}, nil
}

// resolved returns an address as a target in grpc-go's syntax, and the endpoint in it. The schemes are those
// of gRPC; an address without one is not resolved by gRPC.
func resolved(address string) (target, endpoint string, err error) {
	scheme, rest, ok := strings.Cut(address, ":")
	endpoint = rest[strings.LastIndexByte(rest, '/')+1:] // behind an authority
	switch {
	case ok && (scheme == "unix" || scheme == "unix-abstract") && endpoint != "":
		return address, "localhost", nil
	case ok && (scheme == "dns" || scheme == "passthrough") && endpoint != "" && (strings.Contains(rest, "/") || strings.Contains(rest, ":")):
		return address, endpoint, nil
	case ok && (scheme == "ipv4" || scheme == "ipv6") && strings.Contains(endpoint, ":"):
		if strings.Contains(endpoint, ",") {
			return "", "", errors.New("give one address")
		}
		return "passthrough:///" + endpoint, endpoint, nil
	case address == "" || strings.Contains(address, "/"):
		return "", "", errors.New("give host:port for gRPC, or a target such as dns:///host:port or unix:///path")
	}
	return "passthrough:///" + address, address, nil
}

// windowBytes is the size of the flow-control window of a stream. With a fixed
// size grpc-go does not measure the bandwidth with pings.
const windowBytes = 4 << 20

// Dial returns a gRPC connection, which connects on first use. A call is sent again
// only if the server has certainly not seen it.
func (t Target) Dial() (*grpc.ClientConn, error) {
	cc, err := grpc.NewClient(t.name,
		grpc.WithTransportCredentials(t.creds),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(4*windowBytes),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableHealthCheck(),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(dialBrief),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", t.name, err)
	}
	return cc, nil
}

func dialBrief(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix://"); ok { // grpc-go marks the addresses of its resolver unix so
		network, address = "unix", path
	} else if strings.HasPrefix(address, "\x00") { // and those of unix-abstract
		network, address = "unix", "@"+address[1:]
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return Brief(conn), nil
}
