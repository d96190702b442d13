package remote_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
)

func serveS3(t *testing.T, allow func(r *http.Request) bool) (*remotetest.Bucket, string) {
	t.Helper()
	b := &remotetest.Bucket{}
	s := remotetest.Server{Buckets: map[string]*remotetest.Bucket{"bucket": b}, PageSize: 10, Allow: allow}
	return b, remotetest.Serve(t, s.S3())
}

func TestS3(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(host string) (string, map[string]string){
		"port":   func(h string) (string, map[string]string) { return "s3://" + h + "/bucket/models", nil },
		"scheme": func(h string) (string, map[string]string) { return "s3://http://" + h + "/bucket/models/", nil },
		"variable": func(h string) (string, map[string]string) {
			return "s3://bucket/models", map[string]string{"AWS_ENDPOINT_URL": "http://" + h}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, host := serveS3(t, nil)
			at, variables := path(host)
			if variables == nil {
				variables = map[string]string{}
			}
			variables["AWS_SHARED_CREDENTIALS_FILE"] = "/none"
			remotetest.Check(t, b, func() (remote.Source, error) { return remote.Open(at, remotetest.Env(variables), remote.Options{}) })
		})
	}
}

// TestCredentialsOfS3: each form of credentials signs requests; a refused one is read again once.
func TestCredentialsOfS3(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	shared := write("shared", "[default]\naws_access_key_id = DEFAULT\naws_secret_access_key = x\n[team]\naws_access_key_id = TEAM\naws_secret_access_key = x\n")
	file := write("file", `{"s3": {"": {"key_id": "FILE", "secret_key": "x"}, "s3://http": {"profile": "team"}}}`)
	for name, test := range map[string]struct {
		variables map[string]string
		want      string // in the Authorization header
		denied    bool
	}{
		"anonymous":   {map[string]string{}, "", false},
		"environment": {map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "x", "AWS_SESSION_TOKEN": "y"}, "Credential=ENV/", false},
		"region":      {map[string]string{"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "eu-west-9"}, "/eu-west-9/s3/", false},
		"shared":      {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared}, "Credential=DEFAULT/", false},
		"profile":     {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": shared, "AWS_PROFILE": "team"}, "Credential=TEAM/", false},
		"file":        {map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": file, "AWS_SHARED_CREDENTIALS_FILE": shared}, "Credential=TEAM/", false},
		"refused":     {map[string]string{"AWS_ACCESS_KEY_ID": "WRONG", "AWS_SECRET_ACCESS_KEY": "hunter2"}, "Credential=RIGHT/", true},
		"no file":     {map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": "/none"}, "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, host := serveS3(t, func(r *http.Request) bool {
				got := r.Header.Get("Authorization")
				return got == test.want || test.want != "" && strings.Contains(got, test.want)
			})
			b.Put("m/x", "x")
			if test.variables["AWS_SHARED_CREDENTIALS_FILE"] == "" {
				test.variables["AWS_SHARED_CREDENTIALS_FILE"] = "/none"
			}
			s, err := remote.Open("s3://http://"+host+"/bucket", remotetest.Env(test.variables), remote.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.(remote.Closer).Close()) }()
			all, err := s.List(t.Context())
			if test.denied {
				require.ErrorIs(t, err, remote.ErrDenied)
				require.NotContains(t, err.Error(), "hunter2")
				return
			}
			require.NoError(t, err)
			require.Len(t, all, 1)
		})
	}
}

// TestRotationOfS3: credentials that were replaced are used without a restart.
func TestRotationOfS3(t *testing.T) {
	t.Parallel()
	var valid atomic.Value
	valid.Store("OLD")
	b, host := serveS3(t, func(r *http.Request) bool {
		return strings.Contains(r.Header.Get("Authorization"), "Credential="+valid.Load().(string)+"/")
	})
	b.Put("m/x", "x")
	path := filepath.Join(t.TempDir(), "credentials.json")
	write := func(key string) {
		require.NoError(t, os.WriteFile(path, []byte(`{"s3": {"": {"key_id": "`+key+`", "secret_key": "x"}}}`), 0o600))
	}
	write("OLD")
	s, err := remote.Open("s3://"+host+"/bucket", remotetest.Env(map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": path}), remote.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.(remote.Closer).Close()) }()
	_, err = s.List(t.Context())
	require.NoError(t, err)
	valid.Store("NEW")
	_, err = s.List(t.Context())
	require.ErrorIs(t, err, remote.ErrDenied)
	write("NEW")
	_, err = s.List(t.Context())
	require.NoError(t, err)
}

func TestErrorsOfS3(t *testing.T) {
	t.Parallel()
	_, host := serveS3(t, nil)
	s, err := remote.Open("s3://"+host+"/missing", remotetest.Env(map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/none"}), remote.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.(remote.Closer).Close()) }()
	_, err = s.List(t.Context())
	require.ErrorIs(t, err, remote.ErrNotFound)
	require.ErrorContains(t, err, "NoSuchBucket")
}
