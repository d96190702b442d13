package remote_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
)

func serveGCS(t *testing.T, allow func(r *http.Request) bool) (*remotetest.Bucket, string) {
	t.Helper()
	b := &remotetest.Bucket{}
	s := remotetest.Server{Buckets: map[string]*remotetest.Bucket{"bucket": b}, PageSize: 10, Allow: allow}
	return b, remotetest.Serve(t, s.GCS())
}

func TestGCS(t *testing.T) {
	t.Parallel()
	b, host := serveGCS(t, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" })
	remotetest.Check(t, b, func() (remote.Source, error) {
		return remote.Open("gs://bucket/models/", remotetest.Env(map[string]string{"STORAGE_EMULATOR_HOST": host}), remote.Options{})
	})
}

// TestServiceAccountOfGCS: a key file, of the environment or of the credential file, gets a token.
func TestServiceAccountOfGCS(t *testing.T) {
	t.Parallel()
	tokens := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"TOKEN","token_type":"Bearer","expires_in":3600}`))
	}))
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@b", "token_uri": "http://" + tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})),
	})
	require.NoError(t, err)
	dir := t.TempDir()
	keyFile, file, empty := filepath.Join(dir, "key.json"), filepath.Join(dir, "file.json"), filepath.Join(dir, "empty.json")
	require.NoError(t, os.WriteFile(keyFile, key, 0o600))
	require.NoError(t, os.WriteFile(file, []byte(`{"gs": {"gs://bucket": "`+keyFile+`"}}`), 0o600))
	require.NoError(t, os.WriteFile(empty, []byte(`{"gs": {}}`), 0o600))
	for name, test := range map[string]struct {
		variables map[string]string
		err       string
	}{
		"environment": {map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": keyFile}, ""},
		"file":        {map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": file}, ""},
		"no match":    {map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": empty}, "Cannot match credential for path  gs://bucket"},
		"not a key":   {map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": empty}, "is not a key of a Google account"},
		"missing":     {map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/none"}, "/none"},
		"anonymous":   {map[string]string{}, "status 403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, host := serveGCS(t, func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer TOKEN" })
			test.variables["STORAGE_EMULATOR_HOST"] = "http://" + host
			remotetest.CheckAccess(t, b, test.err, func() (remote.Source, error) {
				return remote.Open("gs://bucket", remotetest.Env(test.variables), remote.Options{})
			})
		})
	}
}

func TestRefusedPathsOfGCS(t *testing.T) {
	t.Parallel()
	const reason = "is not a path of Google Cloud Storage"
	remotetest.CheckRefused(t, map[string]string{
		"gs://": reason, "gs:///": reason, "gs://host:80/bucket": reason, "gs://b?x=y": reason, "gs://user:" + remotetest.Secret + "@bucket/x": reason,
	}, func(path string) (remote.Source, error) {
		return remote.Open(path, remotetest.Env(nil), remote.Options{})
	})
}
