// Package connect has the flags of commands that ask a running server: its address, the address of
// its metrics, headers and TLS.
package connect

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/scrape"
)

// Options are the values of the flags.
type Options struct {
	Address string // of the HTTP port
	Metrics string // address of the metrics page; empty: port 8002 of the host of Address
	Headers []string
	TLS     client.TLSFiles
}

// Bind adds the flags to those of a command.
func (o *Options) Bind(f *flags.Set) {
	f.StringVarP(&o.Address, "url", "u", "localhost:8000", "address of the server's HTTP port")
	f.StringVar(&o.Metrics, "metrics-url", "", "address of the server's metrics (default port 8002 of the same host, with the same scheme)")
	f.StringArrayVarP(&o.Headers, "header", "H", nil, "header of every request, NAME:VALUE, such as an API key; may be repeated")
	f.StringVar(&o.TLS.Root, "tls-ca-file", "", "root certificates of the server, PEM (default the machine's)")
	f.StringVar(&o.TLS.Cert, "tls-cert-file", "", "certificate of the client with its chain, PEM")
	f.StringVar(&o.TLS.Key, "tls-key-file", "", "key of the client's certificate, PEM")
}

// Server is a connection to a server.
type Server struct {
	Client  *client.Client
	Metrics scrape.Source
	kept    *http.Transport
}

// Close closes the connections.
func (s *Server) Close() {
	_ = s.Client.Close()
	s.kept.CloseIdleConnections()
}

// Server returns the connection that the flags name. Nothing is sent yet.
func (o *Options) Server() (*Server, error) {
	address := flags.WithPort(cmp.Or(o.Address, "localhost"), "8000")
	headers, err := flags.Headers(o.Headers)
	if err != nil {
		return nil, err
	}
	var config *tls.Config
	if o.TLS != (client.TLSFiles{}) {
		if config, err = o.TLS.Config(); err != nil {
			return nil, err
		}
	}
	c, err := client.New(client.Options{Address: address, Headers: headers, TLS: config})
	if err != nil {
		return nil, process.UsageError("--url: %w", err)
	}
	metrics := o.Metrics
	if metrics == "" {
		metrics = metricsOf(address)
	}
	if _, err := scrape.Resolve(metrics); err != nil {
		_ = c.Close()
		return nil, process.UsageError("--metrics-url: %w", err)
	}
	kept := &http.Transport{TLSClientConfig: config, MaxIdleConns: 1}
	return &Server{Client: c, Metrics: scrape.Source{URL: metrics, Headers: headers, Client: scrape.Client(kept)}, kept: kept}, nil
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
