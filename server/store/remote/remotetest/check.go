package remotetest

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
)

// Env is an environment of a source with the given variables.
func Env(variables map[string]string) remote.Env {
	return remote.Env{Getenv: func(name string) string { return variables[name] }, Log: slog.New(slog.DiscardHandler)}
}

// Serve serves a protocol on a port of this machine and returns its host and port.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Check checks a source of the objects below models/ in a bucket, which it fills.
func Check(t *testing.T, b *Bucket, open func() (remote.Source, error)) {
	t.Helper()
	s, err := open()
	require.NoError(t, err)
	t.Cleanup(func() {
		if c, ok := s.(remote.Closer); ok {
			require.NoError(t, c.Close())
		}
	})
	_, err = s.List(t.Context())
	require.ErrorIs(t, err, remote.ErrNotFound, "there is nothing below the path")

	content := map[string]string{"m/config.pbtxt": "config", "m/1/a b+c%25ü&?#.txt": "strange", "m/2/": "", "n/1/model": strings.Repeat("0123456789", 1000)}
	for i := range 25 { // several pages
		content[fmt.Sprintf("many/%02d", i)] = fmt.Sprint(i)
	}
	for name, text := range content {
		b.Put("models/"+name, text)
	}
	b.Put("models2/other", "x")
	b.Put("other", "x")
	all, err := s.List(t.Context())
	require.NoError(t, err)
	got := map[string]string{}
	for _, o := range all {
		require.NotEmpty(t, o.Tag)
		require.Equal(t, int64(len(content[o.Name])), o.Size, o.Name)
		got[o.Name] = ""
		if o.Size > 0 {
			got[o.Name] = read(t, s, o, 0, o.Size)
		}
	}
	require.Equal(t, content, got)

	o := find(t, s, "n/1/model")
	require.Equal(t, "345678", read(t, s, o, 13, 6))
	b.Put("models/n/1/model", strings.Repeat("abcdefghij", 1000))
	_, err = s.Open(t.Context(), o.Name, o.Tag, 0, 5)
	require.ErrorIs(t, err, remote.ErrChanged)
	require.NotEqual(t, o.Tag, find(t, s, "n/1/model").Tag)
	b.Remove("models/n/")
	_, err = s.Open(t.Context(), o.Name, o.Tag, 0, 5)
	require.Error(t, err)

	o = find(t, s, "m/config.pbtxt")
	b.Fault(func(f *Fetch) { f.Status = http.StatusInternalServerError })
	_, err = s.Open(t.Context(), o.Name, o.Tag, 0, 5)
	require.Error(t, err)
	for _, e := range []error{remote.ErrChanged, remote.ErrDenied, remote.ErrNotFound} {
		require.NotErrorIs(t, err, e)
	}
	b.Fault(nil)
}

func find(t *testing.T, s remote.Source, name string) remote.Object {
	t.Helper()
	all, err := s.List(t.Context())
	require.NoError(t, err)
	for _, o := range all {
		if o.Name == name {
			return o
		}
	}
	require.Fail(t, "not listed", name)
	return remote.Object{}
}

func read(t *testing.T, s remote.Source, o remote.Object, offset, length int64) string {
	t.Helper()
	body, err := s.Open(t.Context(), o.Name, o.Tag, offset, length)
	require.NoError(t, err, o.Name)
	text, err := io.ReadAll(body)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	return string(text)
}
