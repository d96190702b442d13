package azure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]address{
		"as://account/container":                              {"account", "", "container", ""},
		"as://account/container/a/b/":                         {"account", "", "container", "a/b/"},
		"as://account.blob.core.windows.net/container/a":      {"account", "", "container", "a/"},
		"as://https://account.blob.core.windows.net/c/a":      {"account", "", "c", "a/"},
		"as://http://127.0.0.1:10000/devstoreaccount1/c/a":    {"devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1", "c", "a/"},
		"as://127.0.0.1:10000/devstoreaccount1/c":             {"devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1", "c", ""},
		"as://https://storage.example/account/container/a//b": {"account", "https://storage.example/account", "container", "a/b/"},
	} {
		got, err := parse(path)
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	const reason = "is not a path of Azure"
	remotetest.CheckRefused(t, map[string]string{
		"as://": reason, "as://account": reason, "as://account/": reason, "as://host:1/account": reason, "as://a_b/c": reason,
		"as://account/container?sig=" + remotetest.Secret: reason, "as://u:" + remotetest.Secret + "@h/c/d": reason,
	}, func(path string) (remote.Source, error) { return Open(path, remotetest.Env(nil)) })
}

// FuzzParse: what is accepted has an account, a container, and a prefix without empty parts.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"as://a/c/p", "as://http://h:1/a/c", "as://h:1/a/c/p/q", "as://a.blob.core.windows.net/c"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		a, err := parse(path)
		if err != nil {
			return
		}
		require.NotEmpty(t, a.account)
		require.NotEmpty(t, a.container)
		require.NotContains(t, "/"+a.prefix, "//")
	})
}

func serve(t *testing.T, allow func(r *http.Request) bool) (*remotetest.Bucket, string) {
	t.Helper()
	b := &remotetest.Bucket{}
	s := remotetest.Server{Buckets: map[string]*remotetest.Bucket{"container": b}, PageSize: 10, Allow: allow}
	return b, remotetest.Serve(t, s.Azure())
}

func TestSource(t *testing.T) {
	t.Parallel()
	b, host := serve(t, nil)
	remotetest.Check(t, b, func() (remote.Source, error) {
		return Open("as://http://"+host+"/account/container/models", remotetest.Env(nil))
	})
}

// TestSecretInAddress: errors of the client have the address, and that has the signature.
func TestSecretInAddress(t *testing.T) {
	t.Parallel()
	s, err := Open("as://http://127.0.0.1:1/account/container", remotetest.Env(map[string]string{"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=hunter2"}))
	require.NoError(t, err)
	_, err = s.List(t.Context())
	require.ErrorContains(t, err, "GET http://127.0.0.1:1/account/container: dial tcp")
	require.NotContains(t, err.Error(), "hunter2")
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

// TestCredentials: each form of credentials proves who sends a request.
func TestCredentials(t *testing.T) {
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
			mac.Write([]byte(signedText(account, r)))
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
			b, host := serve(t, test.allow)
			remotetest.CheckAccess(t, b, test.err, func() (remote.Source, error) {
				return Open("as://http://"+host+"/account/container", remotetest.Env(test.variables))
			})
		})
	}
}
