package wire

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// Scheme returns the scheme of the URLs of calls.
func (t Target) Scheme() string {
	if t.creds.Info().SecurityProtocol == "tls" {
		return "https"
	}
	return "http"
}

// Authority returns the name of the server in calls.
func (t Target) Authority() string {
	if name := t.creds.Info().ServerName; name != "" { //nolint:staticcheck // no other way shows the name
		return name
	}
	return t.endpoint
}

// Connect opens a connection for HTTP/2, with TLS if the target has it.
func (t Target) Connect(ctx context.Context) (net.Conn, error) {
	network, address, resolver := t.dialed()
	d := net.Dialer{Resolver: resolver}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("transport: Error while dialing: %w", err)
	}
	secure, _, err := t.creds.ClientHandshake(ctx, t.Authority(), conn)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("transport: authentication handshake failed: %w", err)
	}
	return secure, nil
}

// dialed returns what to dial for the target, as grpc-go's resolvers do.
func (t Target) dialed() (network, address string, resolver *net.Resolver) {
	scheme, rest, _ := strings.Cut(t.name, ":")
	switch scheme {
	case "unix":
		return "unix", strings.TrimPrefix(rest, "//"), nil
	case "unix-abstract":
		return "unix", "@" + strings.TrimPrefix(rest, "//"), nil
	case "dns":
		address = t.endpoint
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), "443")
		}
		if server, _, ok := strings.Cut(strings.TrimPrefix(rest, "//"), "/"); ok && strings.HasPrefix(rest, "//") && server != "" {
			resolver = resolverOf(server)
		}
		return "tcp", address, resolver
	}
	return "tcp", t.endpoint, nil
}

// resolverOf returns a resolver that asks a DNS server.
func resolverOf(server string) *net.Resolver {
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(strings.Trim(server, "[]"), "53")
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server)
	}}
}
