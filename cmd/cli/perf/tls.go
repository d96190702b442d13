package perf

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"triton/pkg/client"
)

// transportSecurity holds the --ssl-* options.
type transportSecurity struct {
	grpc, https client.TLSFiles
	useGRPC     bool

	certDER, keyDER      bool // of https
	skipPeer, skipHost   bool
	grpcGiven, httpGiven bool
}

func (o *options) addTLSFlags(t table) {
	s := &o.tls
	t.toggle("ssl-grpc-use-ssl", "", "connect to gRPC with TLS; an address grpcs:// does the same", func() { s.useGRPC, s.grpcGiven = true, true })
	t.file(&s.grpc.Root, &s.grpcGiven, "ssl-grpc-root-certifications-file", "root certificates of the server, PEM (the machine's)")
	t.file(&s.grpc.Key, &s.grpcGiven, "ssl-grpc-private-key-file", "key of the client's certificate, PEM")
	t.file(&s.grpc.Cert, &s.grpcGiven, "ssl-grpc-certificate-chain-file", "the client's certificate with its chain, PEM")
	t.value("ssl-https-verify-peer", "", "<0|1>", "verify the server's certificate of an address https:// (1)", func(text string) error {
		n, err := integer("--ssl-https-verify-peer", text)
		if err != nil || n != 0 && n != 1 {
			return errors.New("Failed to parse --ssl-https-verify-peer. The value must be either 0 or 1.")
		}
		s.skipPeer, s.httpGiven = n == 0, true
		return nil
	})
	t.value("ssl-https-verify-host", "", "<0|1|2>", "verify the name in the server's certificate; 0 does not (2)", func(text string) error {
		n, err := integer("--ssl-https-verify-host", text)
		if err != nil || n < 0 || n > 2 {
			return errors.New("Failed to parse --ssl-https-verify-host. The value must be either 0, 1, or 2.")
		}
		s.skipHost, s.httpGiven = n == 0, true
		return nil
	})
	t.file(&s.https.Root, &s.httpGiven, "ssl-https-ca-certificates-file", "root certificates of the server, PEM (the machine's)")
	t.file(&s.https.Cert, &s.httpGiven, "ssl-https-client-certificate-file", "the client's certificate")
	t.encoding(&s.certDER, "ssl-https-client-certificate-type")
	t.file(&s.https.Key, &s.httpGiven, "ssl-https-private-key-file", "key of the client's certificate")
	t.encoding(&s.keyDER, "ssl-https-private-key-type")
}

// file adds an option for an existing file.
func (t table) file(to *string, given *bool, name, usage string) {
	t.value(name, "", "<file>", usage, func(text string) error {
		if info, err := os.Stat(text); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("Failed to parse --%s. The value must be a valid file path.", name)
		}
		*to, *given = text, true
		return nil
	})
}

// encoding adds an option for the encoding of a file.
func (t table) encoding(der *bool, name string) {
	t.value(name, "", "<PEM|DER>", "its encoding (PEM)", func(text string) error {
		if text != "PEM" && text != "DER" {
			return fmt.Errorf("Failed to parse --%s. Unsupported type provided: '%s'. The available options are 'PEM' or 'DER'.", name, text)
		}
		*der = text == "DER"
		return nil
	})
}

// connectSecurely sets the TLS configuration of the client.
func (o *options) connectSecurely() (err error) {
	s := &o.tls
	if o.client.Protocol == client.GRPC {
		if s.useGRPC || strings.HasPrefix(o.client.Address, "grpcs://") {
			o.client.TLS, err = s.grpc.Config()
		} else if s.grpcGiven {
			o.warnOwn("WARNING: the --ssl-grpc options have no effect without --ssl-grpc-use-ssl.")
		}
		return err
	}
	if !strings.HasPrefix(o.client.Address, "https://") {
		if s.httpGiven {
			o.warnOwn("WARNING: the --ssl-https options have no effect: the address does not begin with https://.")
		}
		return nil
	}
	at, err := url.Parse(o.client.Address)
	if err != nil {
		return fmt.Errorf("address of the server: %w", err)
	}
	o.client.TLS, err = s.config(at.Hostname())
	return err
}

// config returns the configuration of https to a host.
func (s *transportSecurity) config(host string) (*tls.Config, error) {
	c, err := client.TLSFiles{Root: s.https.Root}.Config()
	if err != nil {
		return nil, err
	}
	if (s.https.Cert == "") != (s.https.Key == "") {
		return nil, errors.New("give both --ssl-https-client-certificate-file and --ssl-https-private-key-file")
	}
	if s.https.Cert != "" {
		pair, err := s.pair()
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	s.verify(c, host)
	return c, nil
}

// pair reads the client's certificate and its key.
func (s *transportSecurity) pair() (tls.Certificate, error) {
	cert, err := readPEM(s.https.Cert, s.certDER, "CERTIFICATE")
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM(s.https.Key, s.keyDER, "PRIVATE KEY")
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// readPEM reads a file and returns it as PEM.
func readPEM(name string, der bool, kind string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if err != nil || !der {
		return b, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), nil
}

// verify replaces Go's verification if the chain or the name of the server's certificate is
// not to be verified: Go verifies both or none. host is the name or address to verify;
// tls.ConnectionState has only names.
func (s *transportSecurity) verify(c *tls.Config, host string) {
	if !s.skipPeer && !s.skipHost {
		return
	}
	c.InsecureSkipVerify = true
	c.VerifyConnection = func(state tls.ConnectionState) error {
		leaf := state.PeerCertificates[0]
		if !s.skipHost {
			if err := leaf.VerifyHostname(host); err != nil {
				return err
			}
		}
		if s.skipPeer {
			return nil
		}
		o := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			o.Intermediates.AddCert(cert)
		}
		_, err := leaf.Verify(o)
		return err
	}
}
