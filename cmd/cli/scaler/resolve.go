package scaler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"triton/pkg/scrape"
)

// resolver finds the addresses of a host.
type resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// resolve returns the metrics pages behind addresses such as triton-pods.ml-serving.svc:8002: one for
// each address of the host's name, as a headless Service has one for each ready pod. A name without
// addresses has no replicas.
func resolve(ctx context.Context, r resolver, addresses []string) ([]string, error) {
	var pages []string
	for _, a := range addresses {
		u, err := scrape.Resolve(a)
		if err != nil {
			return nil, err
		}
		hosts := []string{u.Hostname()}
		if net.ParseIP(u.Hostname()) == nil {
			hosts, err = r.LookupHost(ctx, u.Hostname())
			var dns *net.DNSError
			if errors.As(err, &dns) && dns.IsNotFound {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look up %s: %w", u.Hostname(), err)
			}
		}
		for _, host := range hosts {
			pages = append(pages, page(u, host))
		}
	}
	slices.Sort(pages)
	return slices.Compact(pages), nil
}

func page(u *url.URL, host string) string {
	p := *u
	switch port := u.Port(); {
	case port != "":
		p.Host = net.JoinHostPort(host, port)
	case net.ParseIP(host).To4() == nil:
		p.Host = "[" + host + "]"
	default:
		p.Host = host
	}
	return p.String()
}
