package redis

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"triton/pkg/status"
)

// Defaults of the timeouts of cache calls. In NVIDIA's redis cache two of them are
// infinite.
const (
	connectTimeout = 500 * time.Millisecond
	socketTimeout  = 100 * time.Millisecond
	waitTimeout    = 100 * time.Millisecond
	poolSize       = 8
)

// defaultTTL is the default lifetime of a response in seconds. NVIDIA's redis cache has
// no such setting: responses stay until Redis runs out of memory, even those of models
// that no longer exist.
const defaultTTL = 24 * 60 * 60

// options are the parsed settings.
type options struct {
	address        string
	user, password string
	db             int
	connections    int // the most at once
	connect, wait  time.Duration
	tls            *tls.Config // nil: none
	prefix         string
	timeout        time.Duration // of one lookup
	ttl            time.Duration // of a response; 0: unlimited
}

// parse reads the settings. Their names are those of NVIDIA's redis cache; prefix and
// ttl are ours.
func parse(settings map[string]string) (*options, error) {
	if settings["host"] == "" || settings["port"] == "" {
		return nil, status.New(status.InvalidArg, "Failed to initialize RedisCache, didn't specify address. Must at a minimum specify "+
			"'host' and 'port' in the configuration - e.g. tritonserver --cache-config redis,host=redis --cache-config redis,port=6379 "+
			"--model-repository=/models ...")
	}
	n := numbers{settings: settings}
	o := &options{prefix: "triton:", timeout: n.milliseconds("socket_timeout", socketTimeout)}
	if p, ok := settings["prefix"]; ok {
		o.prefix = p
	}
	o.ttl = time.Duration(n.number("ttl", defaultTTL, math.MaxInt32)) * time.Second
	o.address = net.JoinHostPort(settings["host"], strconv.Itoa(n.number("port", 0, 65535)))
	o.user, o.password, o.db = settings["user"], settings["password"], n.number("db", 0, 1<<20)
	if o.connections = n.number("pool_size", poolSize, 1<<16); o.connections == 0 {
		o.connections = poolSize
	}
	o.connect, o.wait = n.milliseconds("connect_timeout", connectTimeout), n.milliseconds("wait_timeout", waitTimeout)
	if n.err != nil {
		return nil, n.err
	}
	var err error
	o.tls, err = tlsConfig(settings)
	return o, err
}

// numbers reads numeric settings and keeps the first error.
type numbers struct {
	settings map[string]string
	err      error
}

func (n *numbers) number(name string, def, limit int) int {
	text, ok := n.settings[name]
	if !ok {
		return def
	}
	v, err := strconv.Atoi(strings.TrimSpace(text))
	if (err != nil || v < 0 || v > limit) && n.err == nil {
		n.err = status.New(status.InvalidArg, "Failed to initialize RedisCache: '%s' must be a number from 0 to %d, got '%s'", name, limit, text)
	}
	return v
}

// milliseconds returns a duration. 0 means the default and not unlimited, because no
// request may wait for ever.
func (n *numbers) milliseconds(name string, def time.Duration) time.Duration {
	if v := n.number(name, 0, 1<<30); v > 0 {
		return time.Duration(v) * time.Millisecond
	}
	return def
}

// tlsConfig returns the TLS configuration; nil if no TLS setting is set.
func tlsConfig(settings map[string]string) (*tls.Config, error) {
	cert, key, ca, dir, name := settings["cert"], settings["key"], settings["cacert"], settings["cacert_dir"], settings["sni"]
	if cert+key+ca+dir+name == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cmp.Or(name, settings["host"])}
	files := []string{ca}
	if dir != "" {
		all, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return nil, initError(err)
		}
		files = append(files, all...)
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		if err := addRoots(config, file, file == ca); err != nil {
			return nil, err
		}
	}
	if cert+key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, initError(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// addRoots adds the certificates of a file. A file named by the user must have one.
func addRoots(config *tls.Config, file string, named bool) error {
	text, err := os.ReadFile(file)
	switch {
	case err != nil && named:
		return initError(err)
	case err != nil:
		return nil // such as a folder
	}
	if config.RootCAs == nil {
		config.RootCAs = x509.NewCertPool()
	}
	if !config.RootCAs.AppendCertsFromPEM(text) && named {
		return initError(fmt.Errorf("no certificate in '%s'", file))
	}
	return nil
}

func initError(err error) error {
	return status.New(status.Internal, "Failed to initialize RedisCache: %w", err)
}
