package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// defaultSocket is where Docker's engine listens.
const defaultSocket = "/var/run/docker.sock"

// apiVersion is the oldest version of the engine's API that has device requests.
const apiVersion = "v1.40"

// engine is a client of Docker's engine.
type engine struct {
	http *http.Client
	at   string // for errors
}

// newEngine returns a client. host is DOCKER_HOST, or empty for the default socket.
func newEngine(host string) (*engine, error) {
	host = cmp.Or(host, "unix://"+defaultSocket)
	network, address, ok := strings.Cut(host, "://")
	if !ok || network != "unix" && network != "tcp" && network != "http" {
		return nil, fmt.Errorf("DOCKER_HOST %q: the engine is reached over unix://PATH or tcp://HOST:PORT", host)
	}
	if network == "http" {
		network = "tcp"
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
	}
	return &engine{&http.Client{Transport: transport}, host}, nil
}

func (e *engine) close() { e.http.CloseIdleConnections() }

// apiError is an answer of the engine that reports an error.
type apiError struct {
	status int
	text   string
}

func (a *apiError) Error() string {
	return fmt.Sprintf("the Docker engine: %s (status %d)", a.text, a.status)
}

func notFound(err error) bool {
	var a *apiError
	return errors.As(err, &a) && a.status == http.StatusNotFound
}

// call sends a request. The answer is decoded into answer unless that is nil.
func (e *engine) call(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	resp, err := e.open(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Close()
	if answer == nil {
		_, err := io.Copy(io.Discard, resp) // so that the connection is kept
		return err
	}
	if err := json.NewDecoder(resp).Decode(answer); err != nil {
		return fmt.Errorf("the Docker engine: answer to %s %s: %w", method, path, err)
	}
	return nil
}

// open sends a request and returns the body of the answer.
func (e *engine) open(ctx context.Context, method, path string, query url.Values, body any) (io.ReadCloser, error) {
	var text io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	target := url.URL{Scheme: "http", Host: "docker", Path: "/" + apiVersion + path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), text)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the Docker engine does not answer at %s: %w", e.at, err)
	}
	if resp.StatusCode < 400 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var message struct{ Message string }
	if json.Unmarshal(b, &message) != nil || message.Message == "" {
		message.Message = strings.TrimSpace(string(b))
	}
	return nil, &apiError{resp.StatusCode, message.Message}
}

// pull makes the engine download an image.
func (e *engine) pull(ctx context.Context, image string) error {
	body, err := e.open(ctx, http.MethodPost, "/images/create", url.Values{"fromImage": {image}}, nil)
	if err != nil {
		return fmt.Errorf("download image %s: %w", image, err)
	}
	defer body.Close()
	for lines := json.NewDecoder(body); ; {
		var progress struct{ Error string }
		err := lines.Decode(&progress)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("download image %s: %w", image, err)
		case progress.Error != "":
			return fmt.Errorf("download image %s: %s", image, progress.Error)
		}
	}
}

// copyLogs writes the output of a container until it ends. Without a terminal the engine sends frames:
// one byte for the stream, three of padding, four of length.
func copyLogs(to io.Writer, from io.Reader, terminal bool) error {
	if terminal {
		_, err := io.Copy(to, from)
		return err
	}
	var header [8]byte
	for {
		if _, err := io.ReadFull(from, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(header[4:]))); err != nil {
			return err
		}
	}
}
