package recording

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"triton/pkg/kserve"
	"triton/pkg/kserve/rest"
	"triton/pkg/tensor"
)

// headerLength is the header with the length of a request's JSON before its binary inputs.
const headerLength = "Inference-Header-Content-Length"

// HTTP returns a handler that forwards to a server, whose address has a scheme. transport may be
// nil.
func (r *Recorder) HTTP(server *url.URL, transport http.RoundTripper) http.Handler {
	h := &httpProxy{recorder: r, pool: tensor.NewPool()}
	h.proxy = &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // streams are passed on as they come
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(server)
			p.Out.Host = p.In.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := p.In.Header[name]; ok { // httputil removes them
					p.Out.Header[name] = v
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "triton perf record: " + err.Error()})
		},
	}
	return h
}

type httpProxy struct {
	recorder *Recorder
	proxy    *httputil.ReverseProxy
	pool     *tensor.Pool
}

// ServeHTTP forwards a request, and records it once its body was passed on.
func (h *httpProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrival := h.recorder.now()
	model, version, ok := inference(r)
	if !ok {
		h.proxy.ServeHTTP(w, r)
		return
	}
	c := &capture{ReadCloser: r.Body, recorder: h.recorder, length: r.ContentLength}
	r.Body = c
	defer h.record(r.Header, c, arrival, model, version)
	h.proxy.ServeHTTP(w, r)
}

// inference returns the model of a request for inference: POST v2/models/M[/versions/V]/infer.
func inference(r *http.Request) (model, version string, ok bool) {
	if r.Method != http.MethodPost {
		return "", "", false
	}
	path := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	if len(path) < 4 || path[len(path)-1] != "infer" {
		return "", "", false
	}
	path = path[:len(path)-1]
	if n := len(path); n >= 5 && path[n-2] == "versions" {
		version, path = path[n-1], path[:n-2]
	}
	if n := len(path); n < 3 || path[n-2] != "models" || path[n-3] != "v2" {
		return "", "", false
	}
	model, err := url.PathUnescape(path[len(path)-1])
	if err != nil {
		return "", "", false
	}
	version, err = url.PathUnescape(version)
	return model, version, err == nil
}

// capture keeps what is read of a body.
type capture struct {
	io.ReadCloser
	recorder *Recorder
	length   int64 // -1: not known
	mu       struct {
		// The transport may still read when the server has answered.
		sync.Mutex
		body    bytes.Buffer
		held    int64 // memory
		ended   bool
		dropped bool
		closed  bool // nothing more is kept
	}
}

func (c *capture) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && !c.mu.dropped && !c.mu.closed {
		if c.recorder.hold(int64(n)) {
			c.mu.held += int64(n)
			c.mu.body.Write(p[:n])
		} else {
			c.mu.dropped = true
			c.recorder.release(c.mu.held)
			c.mu.held, c.mu.body = 0, bytes.Buffer{}
		}
	}
	c.mu.ended = c.mu.ended || errors.Is(err, io.EOF)
	return n, err
}

// take ends the capture. It returns the body if it was read to its end; dropped reports that
// there was no memory for it. The caller releases held bytes.
func (c *capture) take() (body []byte, held int64, dropped, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
	complete = c.mu.ended || c.length >= 0 && int64(c.mu.body.Len()) == c.length
	return c.mu.body.Bytes(), c.mu.held, c.mu.dropped, complete
}

func (h *httpProxy) record(header http.Header, c *capture, arrival time.Duration, model, version string) {
	body, held, dropped, complete := c.take()
	defer h.recorder.release(held)
	switch {
	case dropped:
		h.recorder.large.Add(1)
		return
	case !complete:
		return // the client or the server ended it
	}
	req := &kserve.Request{ModelName: model, ModelVersion: version}
	defer req.Reset()
	if err := h.decode(req, header, body); err != nil {
		h.recorder.refuse(err)
		return
	}
	h.recorder.add(arrival, req)
}

var errRaw = errors.New("raw requests have no description of their input")

func (h *httpProxy) decode(req *kserve.Request, header http.Header, body []byte) error {
	var err error
	if body, err = h.decompress(body, header.Get("Content-Encoding")); err != nil {
		return err
	}
	length := len(body)
	if text := header.Get(headerLength); text != "" {
		if length, err = strconv.Atoi(text); err != nil || length < 0 || length > len(body) {
			return fmt.Errorf("the header %s is %q", headerLength, text)
		}
	}
	if length == 0 {
		return errRaw
	}
	buffer := tensor.HeapBuffer(body)
	defer buffer.Release()
	d := rest.Decoder{Pool: h.pool}
	return d.DecodeRequest(req, buffer, length)
}

// decompress returns a body without its encoding.
func (h *httpProxy) decompress(body []byte, coding string) ([]byte, error) {
	var r io.Reader
	var err error
	switch coding {
	case "", "identity":
		return body, nil
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(body))
	default:
		return nil, fmt.Errorf("the encoding %q is not known", coding)
	}
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, h.recorder.memory+1))
	if err == nil && int64(len(plain)) > h.recorder.memory {
		err = errors.New("the decompressed body is too large")
	}
	return plain, err
}
