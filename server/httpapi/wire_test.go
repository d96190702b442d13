package httpapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var record = flag.String("record", "", "address of NVIDIA's server, over the models that newStub imitates: write what it answers")

// exchange is one request of the conformance table.
type wire struct {
	name   string
	method string // POST unless given
	path   string
	header []string
	body   string
}

// The files of recorded replies: those of NVIDIA's server, and ours where we
// differ on purpose (the reasons are in differences).
const (
	tritonFile = "testdata/wire/triton.txt"
	oursFile   = "testdata/wire/ours.txt"
)

// send makes the raw request on a connection of its own and returns the reply
// as text: status, the headers that matter, body.
func send(t *testing.T, addr string, w wire) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, waitTime)
	for i := 0; err != nil && *record != "" && i < 100; i++ {
		time.Sleep(300 * time.Millisecond) // the last request ended it; somebody starts it again
		c, err = net.DialTimeout("tcp", addr, waitTime)
	}
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	method := w.method
	if method == "" {
		method = "POST"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: server\r\nConnection: close\r\n", method, w.path)
	chunked := false
	for _, h := range w.header {
		b.WriteString(h + "\r\n")
		chunked = chunked || h == "Transfer-Encoding: chunked"
	}
	if chunked {
		b.WriteString("\r\n" + w.body)
	} else {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(w.body), w.body)
	}
	_, err = c.Write(b.Bytes())
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return "no reply: " + err.Error() + "\n"
	}
	return describe(t, resp)
}

func describe(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", resp.StatusCode)
	packed := resp.Header.Get("Content-Encoding")
	for _, h := range []string{"Content-Type", "Content-Length", "Inference-Header-Content-Length", "Content-Encoding", "Accept-Encoding", "Date", "Server"} {
		v := resp.Header.Get(h)
		if h == "Content-Length" && (packed != "" || v == strconv.Itoa(len(body))) {
			continue // it depends on the packer, or says what the body shows
		}
		if v != "" {
			fmt.Fprintf(&b, "%s: %s\n", h, v)
		}
	}
	switch packed {
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		require.NoError(t, err)
		body, err = io.ReadAll(z)
		require.NoError(t, err)
	case "deflate":
		z, err := zlib.NewReader(bytes.NewReader(body))
		require.NoError(t, err)
		body, err = io.ReadAll(z)
		require.NoError(t, err)
	}
	if len(body) == 0 {
		return b.String()
	}
	if bytes.IndexFunc(body, func(r rune) bool { return r < ' ' || r == 0xFFFD }) >= 0 {
		return b.String() + strconv.Quote(string(body)) + "\n"
	}
	return b.String() + string(body) + "\n"
}

// recorded reads a file of replies: "== name" and then the text.
func recorded(t *testing.T, file string) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, part := range strings.Split("\n"+readFile(file), "\n== ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		m[name] = strings.TrimSuffix(text, "\n") + "\n"
	}
	return m
}

func writeRecord(t *testing.T, file string, names []string, m map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, n := range names {
		if text, ok := m[n]; ok {
			b.WriteString("== " + n + "\n" + text)
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
}
