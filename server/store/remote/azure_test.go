package remote_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
)

func serveAzure(t *testing.T, allow func(r *http.Request) bool) (*remotetest.Bucket, string) {
	t.Helper()
	b := &remotetest.Bucket{}
	s := remotetest.Server{Buckets: map[string]*remotetest.Bucket{"container": b}, PageSize: 10, Allow: allow}
	return b, remotetest.Serve(t, s.Azure())
}

func TestAzure(t *testing.T) {
	t.Parallel()
	b, host := serveAzure(t, nil)
	remotetest.Check(t, b, func() (remote.Source, error) {
		return remote.Open("as://http://"+host+"/account/container/models", remotetest.Env(nil), remote.Options{})
	})
}

// TestSecretInAddressOfAzure: errors of the client have the address, and that has the signature.
func TestSecretInAddressOfAzure(t *testing.T) {
	t.Parallel()
	s, err := remote.Open("as://http://127.0.0.1:1/account/container", remotetest.Env(map[string]string{"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=hunter2"}), remote.Options{})
	require.NoError(t, err)
	_, err = s.List(t.Context())
	require.ErrorContains(t, err, "GET http://127.0.0.1:1/account/container: dial tcp")
	require.NotContains(t, err.Error(), "hunter2")
}

// TestCredentialsOfAzure: each form of credentials proves who sends a request.
func TestCredentialsOfAzure(t *testing.T) {
	t.Parallel()
	key := base64.StdEncoding.EncodeToString([]byte("key"))
	file := filepath.Join(t.TempDir(), "file.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"as": {"as://http": {"account_str": "other", "account_key": "`+key+`"}}}`), 0o600))
	tokens := remotetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"TOKEN-` + r.Form.Get("client_id") + r.URL.Path + `","token_type":"Bearer","expires_in":3600}`))
	}))
	sharedBy := func(account string) func(r *http.Request) bool {
		return func(r *http.Request) bool {
			mac := hmac.New(sha256.New, []byte("key"))
			mac.Write([]byte(remote.SignedText(account, r)))
			return r.Header.Get("Authorization") == "SharedKey "+account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil))
		}
	}
	for name, test := range map[string]struct {
		variables map[string]string
		allow     func(r *http.Request) bool
		err       string
	}{
		"anonymous": {nil, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" }, ""},
		"key":       {map[string]string{"AZURE_STORAGE_KEY": key}, sharedBy("account"), ""},
		"account":   {map[string]string{"AZURE_STORAGE_KEY": key, "AZURE_STORAGE_ACCOUNT": "other"}, sharedBy("other"), ""},
		"file":      {map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": file}, sharedBy("other"), ""},
		"signature": {map[string]string{"AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=a%2Bb"}, func(r *http.Request) bool { return r.URL.Query().Get("sig") == "a+b" }, ""},
		"application": {
			map[string]string{"AZURE_STORAGE_AUTH_TYPE": "default", "AZURE_AUTHORITY_HOST": "http://" + tokens, "AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "app", "AZURE_CLIENT_SECRET": "x"},
			func(r *http.Request) bool {
				return r.Header.Get("Authorization") == "Bearer TOKEN-app/tenant/oauth2/v2.0/token"
			}, "",
		},
		"not base64":   {map[string]string{"AZURE_STORAGE_KEY": remotetest.Secret + "!"}, nil, "the Azure storage key is not base64"},
		"unknown type": {map[string]string{"AZURE_STORAGE_AUTH_TYPE": "guess"}, nil, `the Azure authentication type is "guess"`},
		"wrong key":    {map[string]string{"AZURE_STORAGE_KEY": key}, func(*http.Request) bool { return false }, "AuthenticationFailed: of the test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, host := serveAzure(t, test.allow)
			remotetest.CheckAccess(t, b, test.err, func() (remote.Source, error) {
				return remote.Open("as://http://"+host+"/account/container", remotetest.Env(test.variables), remote.Options{})
			})
		})
	}
}

func TestRefusedPathsOfAzure(t *testing.T) {
	t.Parallel()
	const reason = "is not a path of Azure"
	remotetest.CheckRefused(t, map[string]string{
		"as://": reason, "as://account": reason, "as://account/": reason, "as://host:1/account": reason, "as://a_b/c": reason,
		"as://account/container?sig=" + remotetest.Secret: reason, "as://u:" + remotetest.Secret + "@h/c/d": reason,
	}, func(path string) (remote.Source, error) {
		return remote.Open(path, remotetest.Env(nil), remote.Options{})
	})
}
