package platform

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/http1"
)

const kind = framing("application/vnd.x.binary+json;json-header-size=")

// exchange calls use with the exchange of a request and returns the reply, which it sends unless
// use did.
func exchange(r *http.Request, use func(*http1.Exchange)) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	http1.NewHTTPHandler(http1.HandlerFunc(func(x *http1.Exchange) {
		use(x)
		if !x.Started() {
			x.Send()
		}
	}), http1.Options{}).ServeHTTP(w, r)
	return w
}

func TestFramedRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ content, length, err string }{
		{"", "", ""},
		{"application/json", "", ""},
		{string(kind) + "7", "7", ""},
		{string(kind) + " 7;charset=utf-8", "7", ""},
		{string(kind) + "0", "0", ""},
		{"additional-string/" + string(kind) + "7", "", "expect MIME type for binary data starts with '" + string(kind) + "', got: additional-string/" + string(kind) + "7"},
		{string(kind) + "x7", "", "Unable to parse inference header size, got: x7"},
		{string(kind), "", "Unable to parse inference header size, got: "},
		{string(kind) + "-123", "", "inference header size should be in range (0, 10), got: -123"},
		{string(kind) + "11", "", "inference header size should be in range (0, 10), got: 11"},
		{string(kind) + "99999999999", "", "Unable to parse inference header size, value is out of range, got: 99999999999"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/invocations", strings.NewReader("0123456789"))
		r.Header.Set("Inference-Header-Content-Length", "3")
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("Accept-Encoding", "gzip")
		r.Header.Set("Content-Type", c.content)
		exchange(r, func(x *http1.Exchange) {
			require.Equal(t, http1.Header{JSONLength: "3", HasJSONLength: true, ContentEncoding: "gzip", AcceptEncoding: "gzip"}, x.Header)
			err := kind.Request(x)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.Equal(t, status.InvalidArg, status.CodeOf(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, http1.Header{JSONLength: c.length, HasJSONLength: c.length != ""}, x.Header, c.content)
		})
	}
}

func TestFramedReply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size int
		want string
	}{{-1, "application/json"}, {12, string(kind) + "12"}} {
		for _, chunked := range []bool{false, true} {
			w := exchange(httptest.NewRequest(http.MethodGet, "/", nil), func(x *http1.Exchange) {
				x.ContentType, x.JSONSize, x.BeforeSend = http1.JSON, c.size, kind.Reply
				x.Text = append(x.Text[:0], "text"...)
				if chunked {
					require.NoError(t, x.Chunk(x.Text))
					require.NoError(t, x.Flush(true))
				}
			})
			require.Equal(t, c.want, w.Header().Get("Content-Type"))
			require.Empty(t, w.Header().Get("Inference-Header-Content-Length"))
			require.Equal(t, "text", w.Body.String())
		}
	}
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	exchange(httptest.NewRequest(http.MethodPost, "/predict?a=b", nil), func(x *http1.Exchange) {
		require.NoError(t, redirect(x, http.MethodGet, "/v2/models/a%2Fb/ready"))
		require.Equal(t, http.MethodGet, x.Method)
		require.Equal(t, "/v2/models/a%2Fb/ready", x.Path)
		for _, path := range []string{"//evil/v2", "/v2/%zz", "http://x/v2"} {
			require.Error(t, redirect(x, http.MethodPost, path), path)
			require.Equal(t, "/v2/models/a%2Fb/ready", x.Path, "an invalid path changes nothing")
		}
	})
}

func FuzzFramedRequest(f *testing.F) {
	f.Add(string(kind)+"12", int64(20))
	f.Add("x"+string(kind), int64(-1))
	f.Fuzz(func(t *testing.T, content string, length int64) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header["Content-Type"] = []string{content}
		exchange(r, func(x *http1.Exchange) {
			x.Length = length
			err := kind.Request(x)
			if err == nil && length >= 0 && strings.HasPrefix(x.Header.JSONLength, "-") {
				t.Fatal("a negative length passed")
			}
		})
	})
}
