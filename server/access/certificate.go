package access

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strconv"

	"triton/server/access/policy"
)

// principalOfCertificate returns the principal of a verified client certificate. A SPIFFE ID names it
// first, then the common name, then the first DNS name; the others are further names.
func principalOfCertificate(c *x509.Certificate) *policy.Principal {
	var names []string
	var ids []string
	for _, u := range c.URIs {
		if u.Scheme == "spiffe" {
			ids = append(ids, u.String())
		}
	}
	if len(ids) == 1 { // SPIFFE: a certificate with several IDs is invalid
		names = append(names, ids[0])
	}
	if cn := c.Subject.CommonName; cn != "" {
		names = append(names, "cert:"+cn)
	}
	for _, d := range c.DNSNames {
		names = append(names, "dns:"+d)
	}
	if len(names) == 0 {
		names = []string{"cert:" + c.SerialNumber.Text(16)}
	}
	return policy.NewPrincipal(names[0], names[1:]...)
}

// PrincipalOfTLS returns the principal of a connection's state; nil without a verified client
// certificate.
func PrincipalOfTLS(s *tls.ConnectionState) *policy.Principal {
	if len(s.VerifiedChains) == 0 || len(s.VerifiedChains[0]) == 0 {
		return nil
	}
	return principalOfCertificate(s.VerifiedChains[0][0])
}

// PrincipalOf returns the principal of a connection; nil if the connection proves none. TLS must have
// been opened.
func PrincipalOf(c net.Conn) *policy.Principal {
	switch c := c.(type) {
	case interface{ ConnectionState() tls.ConnectionState }:
		s := c.ConnectionState()
		return PrincipalOfTLS(&s)
	case *unixConn:
		return c.peer
	case interface{ NetConn() net.Conn }:
		return PrincipalOf(c.NetConn())
	}
	return nil
}

// ofProcess returns the principal of a process.
func ofProcess(uid, gid uint32) *policy.Principal {
	return policy.NewPrincipal("uid:"+strconv.FormatUint(uint64(uid), 10), "gid:"+strconv.FormatUint(uint64(gid), 10))
}
