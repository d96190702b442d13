package http1_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	waitTime = time.Minute
	pollTime = 5 * time.Millisecond

	readPath    = "/read"
	unknownPath = "/unknown"
	payload     = `{"inputs":[{"name":"INPUT0","shape":[2],"data":[1,2]}]}`
)

// stub answers GET /live at once and POST /read when it has read the body; other paths are
// unknown.
type stub struct {
	// handle runs after the body of a POST was read, while the client is watched. It may send chunks.
	handle func(*http1.Exchange)
}

func newStub() *stub { return &stub{} }

func (s *stub) Serve(x *http1.Exchange) {
	switch {
	case x.Path == "/live":
	case x.Path != readPath:
		x.Status = http.StatusNotFound
	default:
		if _, err := io.Copy(io.Discard, x.Body); err != nil {
			x.Status, x.Text = http.StatusBadRequest, append(x.Text[:0], err.Error()...)
		} else if s.handle != nil {
			x.Watch()
			s.handle(x)
			x.Unwatch()
		}
	}
	if !x.Started() {
		x.Send()
	}
}

// post sends a body and returns the reply.
func post(t *testing.T, addr, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post("http://"+addr+path, http1.JSON, strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// dial sends text over a connection of its own, half-closes it if half is set, and returns all
// that the server sends.
func dial(t *testing.T, addr, text string, closeWrite bool) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, waitTime)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(waitTime)))
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	if closeWrite {
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
	}
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(all)
}
