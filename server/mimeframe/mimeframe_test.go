package mimeframe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/mimeframe"
)

const kind = mimeframe.Type("application/vnd.x.binary+json;json-header-size=")

func TestRequest(t *testing.T) {
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
		r.Header.Set("Content-Type", c.content)
		got, err := kind.Request(r)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			require.Equal(t, status.InvalidArg, status.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.length, got.Header.Get("Inference-Header-Content-Length"), c.content)
		require.Empty(t, got.Header.Get("Content-Encoding"))
		require.Equal(t, "gzip", r.Header.Get("Content-Encoding"), "the caller's request stays as it is")
	}
}

func TestWriter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ length, want string }{{"", "application/json"}, {"12", string(kind) + "12"}} {
		rec := httptest.NewRecorder()
		w := kind.Writer(rec)
		w.Header().Set("Content-Type", "application/json")
		if c.length != "" {
			w.Header().Set("Inference-Header-Content-Length", c.length)
		}
		_, err := io.WriteString(w, "text")
		require.NoError(t, err)
		require.NoError(t, http.NewResponseController(w).Flush())
		require.True(t, rec.Flushed)
		require.Equal(t, c.want, rec.Header().Get("Content-Type"))
		require.Empty(t, rec.Header().Get("Inference-Header-Content-Length"))
		require.Equal(t, "text", rec.Body.String())
	}
}

func TestTo(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/predict?a=b", nil)
	got, err := mimeframe.To(r, http.MethodGet, "/v2/models/a%2Fb/ready")
	require.NoError(t, err)
	require.Equal(t, http.MethodGet, got.Method)
	require.Equal(t, "/v2/models/a%2Fb/ready", got.URL.EscapedPath())
	require.Equal(t, "/predict", r.URL.Path)
	for _, path := range []string{"//evil/v2", "/v2/%zz", "http://x/v2"} {
		_, err = mimeframe.To(r, http.MethodGet, path)
		require.Error(t, err, path)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(string(kind)+"12", int64(20))
	f.Add("x"+string(kind), int64(-1))
	f.Fuzz(func(t *testing.T, content string, length int64) {
		r := &http.Request{Header: http.Header{"Content-Type": {content}}, ContentLength: length}
		got, err := kind.Request(r)
		if err == nil && length >= 0 && strings.HasPrefix(got.Header.Get("Inference-Header-Content-Length"), "-") {
			t.Fatal("a negative length passed")
		}
	})
}
