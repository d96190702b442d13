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
	// Root holds the root certificates; empty uses the machine's.
	Root string
	// Cert and Key are the client's certificate for a server with mutual TLS.
	Cert, Key string
	// ServerName is the name in the server's certificate; empty uses the host of
	// the address.
	ServerName string
}

// Config reads the files and returns a value for Options.TLS.
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
