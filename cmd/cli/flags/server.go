package flags

import (
	"cmp"
	"net"
	"strings"

	"triton/cmd/cli/process"
	"triton/pkg/client"
)

// Server is how a command reaches a running server: the values of --url, --header and the flags of its certificates.
type Server struct {
	Address string
	Headers []string
	TLS     client.TLSFiles
}

// Bind adds the flags to those of a command, with the default of --url and the help texts of --url and --header.
func (s *Server) Bind(f *Set, address, addressUsage, headerUsage string) {
	f.StringVarP(&s.Address, "url", "u", address, addressUsage)
	f.StringArrayVarP(&s.Headers, "header", "H", nil, headerUsage)
	f.StringVar(&s.TLS.Root, "tls-ca-file", "", "root certificates of the server, PEM (default the machine's)")
	f.StringVar(&s.TLS.Cert, "tls-cert-file", "", "certificate of the client with its chain, PEM")
	f.StringVar(&s.TLS.Key, "tls-key-file", "", "key of the client's certificate, PEM")
}

// Options returns the options of a client of the server. An address with https:// or grpcs:// uses the machine's
// certificates where no file of certificates is given.
func (s *Server) Options(p client.Protocol) (o client.Options, err error) {
	port := "8000"
	if p == client.GRPC {
		port = "8001"
	}
	o = client.Options{Protocol: p, Address: WithPort(cmp.Or(s.Address, "localhost"), port)}
	if o.Headers, err = Headers(s.Headers); err == nil && s.TLS != (client.TLSFiles{}) {
		o.TLS, err = s.TLS.Config()
	}
	return o, err
}

// WithPort adds a port to the address of a server that has no port and is no URL.
func WithPort(address, port string) string {
	host := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	bare := !strings.ContainsAny(address, ":/") || net.ParseIP(host) != nil
	if !bare {
		return address
	}
	return net.JoinHostPort(host, port)
}

// Headers parses the values of --header, NAME:VALUE each. Errors do not show them, as they may be
// secrets.
func Headers(values []string) (map[string]string, error) {
	headers := map[string]string{}
	for i, text := range values {
		name, value, ok := strings.Cut(text, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, process.UsageError("--header number %d is not NAME:VALUE", i+1)
		}
		headers[name] = strings.TrimSpace(value)
	}
	return headers, nil
}
