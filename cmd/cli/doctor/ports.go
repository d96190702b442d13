package doctor

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"triton/cmd/cli/process"
	"triton/pkg/client"
)

// ports opens and closes the ports of the services. Those of a server that runs are no failure.
func ports(ctx context.Context, _ process.Process, o options) []Finding {
	var found []Finding
	server := running(ctx, o)
	if server != "" {
		found = append(found, about("server", Note, "%s answers on port %d", server, *o.ports["http-port"]))
	}
	for _, name := range slices.Sorted(maps.Keys(o.ports)) {
		port := *o.ports[name]
		if port == 0 {
			continue
		}
		address := net.JoinHostPort(o.address, strconv.Itoa(port))
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		switch {
		case err == nil:
			_ = l.Close()
			found = append(found, about("port", OK, "%s is free (--%s)", address, name))
		case errors.Is(err, os.ErrPermission):
			found = append(found, about("port", Failure, "%s may not be opened (--%s)", address, name).
				do("choose a port above 1023, or give the process CAP_NET_BIND_SERVICE"))
		case server != "":
			found = append(found, about("port", Note, "%s is in use while a server runs here (--%s)", address, name))
		default:
			found = append(found, about("port", Failure, "%s cannot be opened (--%s)", address, name).
				do("%v: end the program that has it, or choose another port with --%s", err, name))
		}
	}
	return found
}

// running returns the name and version of a server of the v2 protocol on the HTTP port; empty if
// there is none.
func running(ctx context.Context, o options) string {
	host := o.address
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	c, err := client.New(client.Options{Protocol: client.HTTP, Address: net.JoinHostPort(host, strconv.Itoa(*o.ports["http-port"]))})
	if err != nil {
		return ""
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	m, err := c.ServerMetadata(ctx)
	if err != nil {
		return ""
	}
	return m.GetName() + " " + m.GetVersion()
}
