package remote

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// SignedText is for tests outside of the package.
var SignedText = signedText

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPathsOfS3(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]s3Address{
		"s3://bucket":                           {"", "bucket", ""},
		"s3://bucket/":                          {"", "bucket", ""},
		"s3://bucket/a/b":                       {"", "bucket", "a/b/"},
		"s3://bucket//a///b/":                   {"", "bucket", "a/b/"},
		"s3://host:9000/bucket":                 {"http://host:9000", "bucket", ""},
		"s3://127.0.0.1:9000/bucket/a/b/":       {"http://127.0.0.1:9000", "bucket", "a/b/"},
		"s3://[::1]:9000/bucket/a":              {"http://[::1]:9000", "bucket", "a/"},
		"s3://http://host:9000/bucket/a":        {"http://host:9000", "bucket", "a/"},
		"s3://https://host:9000/bucket/a":       {"https://host:9000", "bucket", "a/"},
		"s3://https://storage.example/bucket/a": {"https://storage.example", "bucket", "a/"},
	} {
		got, err := parseS3(path)
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	for _, path := range []string{"s3://", "s3:///", "s3://host:9000", "s3://host:9000/", "s3://https://host", "s3://https:///bucket", "s3://bucket?x=y", "s3://a:b/c"} {
		_, err := parseS3(path)
		require.ErrorContains(t, err, "is not a path of S3", path)
	}
	_, err := parseS3("s3://https://user:hunter2@host/bucket")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

// FuzzParseS3: what is accepted has a bucket, and a prefix without empty parts.
func FuzzParseS3(f *testing.F) {
	for _, path := range []string{"s3://bucket/a", "s3://h:1/b", "s3://https://h/b/c", "s3://https://u:p@h/b", "s3://[::1]:9/b"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		a, err := parseS3(path)
		if err != nil {
			return
		}
		require.NotEmpty(t, a.bucket)
		require.NotContains(t, a.bucket, "/")
		require.NotContains(t, "/"+a.prefix, "//")
		require.True(t, a.prefix == "" || strings.HasSuffix(a.prefix, "/"))
	})
}

func TestPathsOfGCS(t *testing.T) {
	t.Parallel()
	s, err := openGCS("gs://bucket//a/b/", Env{Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	require.Equal(t, "gs://bucket//a/b", s.String())
	require.Equal(t, "a/b/", s.(*gcsSource).prefix)
	require.Equal(t, "https://storage.googleapis.com", s.(*gcsSource).endpoint)
}

func TestPathsOfAzure(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]azureAddress{
		"as://account/container":                              {"account", "", "container", ""},
		"as://account/container/a/b/":                         {"account", "", "container", "a/b/"},
		"as://account.blob.core.windows.net/container/a":      {"account", "", "container", "a/"},
		"as://https://account.blob.core.windows.net/c/a":      {"account", "", "c", "a/"},
		"as://http://127.0.0.1:10000/devstoreaccount1/c/a":    {"devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1", "c", "a/"},
		"as://127.0.0.1:10000/devstoreaccount1/c":             {"devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1", "c", ""},
		"as://https://storage.example/account/container/a//b": {"account", "https://storage.example/account", "container", "a/b/"},
	} {
		got, err := parseAzure(path)
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
}

// FuzzParseAzure: what is accepted has an account, a container, and a prefix without empty parts.
func FuzzParseAzure(f *testing.F) {
	for _, path := range []string{"as://a/c/p", "as://http://h:1/a/c", "as://h:1/a/c/p/q", "as://a.blob.core.windows.net/c"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		a, err := parseAzure(path)
		if err != nil {
			return
		}
		require.NotEmpty(t, a.account)
		require.NotEmpty(t, a.container)
		require.NotContains(t, "/"+a.prefix, "//")
	})
}

// TestSignedText is the example of a listing in the documentation of the service.
func TestSignedText(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequest(http.MethodGet, "https://myaccount.blob.core.windows.net/mycontainer?comp=metadata&restype=container&timeout=20", http.NoBody) //nolint:noctx // it is not sent
	require.NoError(t, err)
	r.Header.Set("X-Ms-Date", "Fri, 26 Jun 2015 23:39:12 GMT")
	r.Header.Set("X-Ms-Version", "2015-02-21")
	require.Equal(t, "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20",
		signedText("myaccount", r))
}
