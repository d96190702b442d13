package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSFiles are PEM files for TLS.
type TLSFiles struct {
	// Root has the certificates that may sign the server's; empty: those that
	// the machine trusts.
	Root string
	// Cert and Key are the client's own, which a server with mutual TLS asks for.
	Cert, Key string
	// ServerName is expected in the server's certificate; empty: the host of the
	// address.
	ServerName string
}

// Config reads the files. The result goes into Options.TLS.
func (f TLSFiles) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.Root != "" {
		pem, err := os.ReadFile(f.Root)
		if err != nil {
			return nil, fmt.Errorf("root certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("root certificates: %s has no PEM certificate", f.Root)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("client certificate: give both the certificate and its key")
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
