package server

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// TLS configures the encryption of one service.
type TLS struct {
	// Allow turns encryption on. With Mutual, clients must have a certificate
	// signed by Root.
	Allow, Mutual bool
	// Cert, Key and Root are PEM files. They are reloaded when they change.
	Cert, Key, Root string
}

// certificateAge is the time between two checks of the certificate files for changes.
const certificateAge = time.Second

// config returns the configuration for a listener with these protocols, nil without
// encryption.
func (t TLS) config(protocols ...string) (*tls.Config, error) {
	if !t.Allow {
		return nil, nil
	}
	files := &certificates{TLS: t, protocols: protocols}
	sums := files.sums() // before reading, so that a change meanwhile is read again
	first, err := files.read()
	if err != nil {
		return nil, err
	}
	files.mu.config, files.mu.sums, files.mu.checked = first, sums, time.Now()
	base := first.Clone()
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.current(), nil }
	return base, nil
}

// certificates are the certificate files of one service and their parsed contents.
type certificates struct {
	TLS
	protocols []string
	mu        struct {
		sync.Mutex
		config  *tls.Config
		sums    [3][sha256.Size]byte
		checked time.Time
	}
}

// current returns the configuration from the current files, or the previous one if they
// cannot be read, as while they are being replaced.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.mu.checked) >= certificateAge {
		c.mu.checked = now
		if sums := c.sums(); sums != c.mu.sums {
			if next, err := c.read(); err == nil {
				c.mu.config, c.mu.sums = next, sums
			}
		}
	}
	return c.mu.config
}

// sums returns hashes of the contents: a file that is replaced may have the time of the one before.
func (c *certificates) sums() (sums [3][sha256.Size]byte) {
	for i, name := range []string{c.Cert, c.Key, c.Root} {
		if text, err := os.ReadFile(name); err == nil {
			sums[i] = sha256.Sum256(text)
		}
	}
	return sums
}

// authenticated are the suites of TLS 1.2 with authenticated encryption and forward secrecy. Go
// would also offer CBC, for clients that are older than these. TLS 1.3 has no others.
var authenticated = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

func (c *certificates) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: c.protocols, MinVersion: tls.VersionTLS12, CipherSuites: authenticated}
	if !c.Mutual {
		return config, nil
	}
	pem, err := os.ReadFile(c.Root)
	if err != nil {
		return nil, fmt.Errorf("root certificate: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("root certificate: %w", errors.New("no certificate in "+c.Root))
	}
	return config, nil
}
