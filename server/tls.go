package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// TLS is the encryption of one service.
type TLS struct {
	// Allow turns encryption on. With Mutual clients must have a certificate
	// that Root has signed.
	Allow, Mutual bool
	// Cert, Key and Root are PEM files. They are read again when they change.
	Cert, Key, Root string
}

// certificateAge is how long the files of certificates are not looked at.
const certificateAge = time.Second

// config returns the configuration for a listener that speaks these protocols, nil
// for one without encryption.
func (t TLS) config(protocols ...string) (*tls.Config, error) {
	if !t.Allow {
		return nil, nil
	}
	files := &certificates{TLS: t, protocols: protocols}
	stamp := files.stamp() // before: what changes meanwhile is read again
	first, err := files.read()
	if err != nil {
		return nil, err
	}
	files.mu.config, files.mu.stamp, files.mu.looked = first, stamp, time.Now()
	base := first.Clone()
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.current(), nil }
	return base, nil
}

// certificates are the files of a TLS and what was read from them last.
type certificates struct {
	TLS
	protocols []string
	mu        struct {
		sync.Mutex
		config *tls.Config
		stamp  [3]time.Time
		looked time.Time
	}
}

// current returns the configuration of the files as they are now; that of before
// when they cannot be read, as while they are being replaced.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.mu.looked) >= certificateAge {
		c.mu.looked = now
		if stamp := c.stamp(); stamp != c.mu.stamp {
			if next, err := c.read(); err == nil {
				c.mu.config, c.mu.stamp = next, stamp
			}
		}
	}
	return c.mu.config
}

// stamp is when the files were changed.
func (c *certificates) stamp() (times [3]time.Time) {
	for i, name := range []string{c.Cert, c.Key, c.Root} {
		if info, err := os.Stat(name); err == nil {
			times[i] = info.ModTime()
		}
	}
	return times
}

func (c *certificates) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: c.protocols, MinVersion: tls.VersionTLS12}
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
