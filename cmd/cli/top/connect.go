package top

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"strings"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/scrape"
)

// serverFlags are the values of the flags that name the server.
type serverFlags struct {
	flags.Server
	Metrics string // address of the metrics page; empty: port 8002 of the host of Address
}

func (o *serverFlags) bind(f *flags.Set) {
	o.Bind(f, "localhost:8000", "address of the server's HTTP port", "header of every request, NAME:VALUE, such as an API key; may be repeated")
	f.StringVar(&o.Metrics, "metrics-url", "", "address of the server's metrics (default port 8002 of the same host, with the same scheme)")
}

// connection is a connection to a server.
type connection struct {
	client  *client.Client
	metrics scrape.Source
	kept    *http.Transport
}

func (s *connection) close() {
	_ = s.client.Close()
	s.kept.CloseIdleConnections()
}

// connect returns the connection that the flags name. Nothing is sent yet.
func (o *serverFlags) connect() (*connection, error) {
	options, err := o.Options(client.HTTP)
	if err != nil {
		return nil, err
	}
	c, err := client.New(options)
	if err != nil {
		return nil, process.UsageError("--url: %w", err)
	}
	metrics := cmp.Or(o.Metrics, metricsOf(options.Address))
	if _, err := scrape.Resolve(metrics); err != nil {
		_ = c.Close()
		return nil, process.UsageError("--metrics-url: %w", err)
	}
	kept := &http.Transport{TLSClientConfig: options.TLS, MaxIdleConns: 1}
	return &connection{client: c, metrics: scrape.Source{URL: metrics, Headers: options.Headers, Client: scrape.Client(kept)}, kept: kept}, nil
}

// metricsOf returns the usual address of the metrics of a server.
func metricsOf(address string) string {
	scheme := "http"
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		scheme, address = cmp.Or(u.Scheme, scheme), u.Host
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return scheme + "://" + net.JoinHostPort(host, "8002")
}
