package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"triton/server/store/remote/remotetest"
)

// document writes a file and returns its path.
func document(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func fixed(variables map[string]string) func(string) map[string]string {
	return func(string) map[string]string { return variables }
}

func minioStore(t *testing.T, certificate string) realStore {
	address, secure := startMinIO(t, ""), startMinIO(t, certificate)
	client, secureClient := s3Client(t, address, false), s3Client(t, secure, true)
	newBucket(t, client, "models", false)
	newBucket(t, client, "public", true)
	newBucket(t, secureClient, "models", false)
	publish := func(bucket string) func(t *testing.T, name string, files tree) {
		return func(t *testing.T, name string, files tree) { publishS3(t, client, bucket, "team/"+name+"/", files) }
	}
	keys := map[string]string{"AWS_ACCESS_KEY_ID": storeUser, "AWS_SECRET_ACCESS_KEY": storePassword}
	at := func(prefix, bucket string) func(address, name string) string {
		return func(address, name string) string { return prefix + address + "/" + bucket + "/team/" + name }
	}
	session := func(string) map[string]string {
		creds, err := credentials.NewSTSAssumeRole("http://"+address, credentials.STSAssumeRoleOptions{AccessKey: storeUser, SecretKey: storePassword})
		require.NoError(t, err)
		v, err := creds.GetWithContext(nil)
		require.NoError(t, err)
		return map[string]string{"AWS_ACCESS_KEY_ID": v.AccessKeyID, "AWS_SECRET_ACCESS_KEY": v.SecretAccessKey, "AWS_SESSION_TOKEN": v.SessionToken}
	}
	file := document(t, "credentials.json", fmt.Sprintf(`{"s3": {"": {"key_id": "nobody", "secret_key": "wrong"}, "s3://": {"key_id": %q, "secret_key": %q}}}`, storeUser, storePassword))
	profile := document(t, "credentials", fmt.Sprintf("[default]\naws_access_key_id = nobody\naws_secret_access_key = wrong\n[models]\naws_access_key_id = %s\naws_secret_access_key = %s\n", storeUser, storePassword))
	private := publish("models")
	return realStore{"MinIO", address, []form{
		{path: "s3://host:port/bucket/path", credentials: "access key", publish: private, repository: at("s3://", "models"), variables: fixed(keys), faults: true},
		{path: "s3://http://host:port/bucket/path", credentials: "access key", publish: private, repository: at("s3://http://", "models"), variables: fixed(keys)},
		{
			path: "s3://https://host:port/bucket/path", credentials: "access key", direct: true, variables: fixed(keys),
			publish: func(t *testing.T, name string, files tree) {
				publishS3(t, secureClient, "models", "team/"+name+"/", files)
			},
			repository: func(_, name string) string { return "s3://https://" + secure + "/models/team/" + name },
		},
		{
			path: "s3://bucket/path", credentials: "access key; endpoint by AWS_ENDPOINT_URL", publish: private,
			repository: func(_, name string) string { return "s3://models/team/" + name },
			variables: func(address string) map[string]string {
				return map[string]string{"AWS_ENDPOINT_URL": "http://" + address, "AWS_ACCESS_KEY_ID": storeUser, "AWS_SECRET_ACCESS_KEY": storePassword}
			},
		},
		{path: "s3://host:port/bucket/path", credentials: "session token of AssumeRole", publish: private, repository: at("s3://", "models"), variables: session},
		{path: "s3://host:port/bucket/path", credentials: "TRITON_CLOUD_CREDENTIAL_PATH", publish: private, repository: at("s3://", "models"), variables: fixed(map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": file})},
		{
			path: "s3://host:port/bucket/path", credentials: "profile of the shared file", publish: private, repository: at("s3://", "models"),
			variables: fixed(map[string]string{"AWS_SHARED_CREDENTIALS_FILE": profile, "AWS_PROFILE": "models"}),
		},
		{
			path: "s3://host:port/bucket/path", credentials: "anonymous", publish: publish("public"), repository: at("s3://", "public"),
			variables: fixed(map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}),
		},
		{
			path: "s3://host:port/bucket/path", credentials: "anonymous, private bucket", publish: private, repository: at("s3://", "models"),
			variables: fixed(map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}), refused: "access denied",
		},
		{
			path: "s3://host:port/bucket/path", credentials: "wrong key", publish: private, repository: at("s3://", "models"),
			variables: fixed(map[string]string{"AWS_ACCESS_KEY_ID": storeUser, "AWS_SECRET_ACCESS_KEY": "wrong"}), refused: "access denied",
		},
		{path: "s3://host:port/bucket/path", credentials: "access key, no such bucket", publish: private, repository: at("s3://", "none"), variables: fixed(keys), refused: "not found"},
		{
			path: "https://host/models.tar.gz?<signature>", credentials: "presigned address", fixed: true, direct: true,
			publish: func(t *testing.T, name string, files tree) {
				publishS3(t, secureClient, "models", "", tree{name + ".tar.gz": string(packTarGzip(t, files))})
			},
			repository: func(_, name string) string {
				u, err := secureClient.PresignedGetObject(t.Context(), "models", name+".tar.gz", time.Hour, nil)
				require.NoError(t, err)
				return u.String()
			},
		},
	}}
}

func gcsStore(t *testing.T) realStore {
	address := startFakeGCS(t)
	send(t, http.MethodPost, "http://"+address+"/storage/v1/b", []byte(`{"name":"models"}`), nil)
	publish := func(t *testing.T, name string, files tree) { publishGCS(t, address, "models", "team/"+name+"/", files) }
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("assertion") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"access_token":"token","token_type":"Bearer","expires_in":3600}`)) //nolint:errcheck // the client sees it
	}))
	t.Cleanup(tokens.Close)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "models@example.com", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	require.NoError(t, err)
	accountFile := document(t, "account.json", string(account))
	credentialFile := document(t, "credentials.json", fmt.Sprintf(`{"gs": {"": "", "gs://models": %q}}`, accountFile))
	with := func(variables map[string]string) func(address string) map[string]string {
		return func(address string) map[string]string {
			all := map[string]string{"STORAGE_EMULATOR_HOST": address}
			for k, v := range variables {
				all[k] = v
			}
			return all
		}
	}
	at := func(bucket string) func(_, name string) string {
		return func(_, name string) string { return "gs://" + bucket + "/team/" + name }
	}
	return realStore{"fake-gcs-server", address, []form{
		{path: "gs://bucket/path", credentials: "anonymous", publish: publish, repository: at("models"), variables: with(nil), faults: true},
		{
			path: "gs://bucket/path", credentials: "GOOGLE_APPLICATION_CREDENTIALS (service account)", publish: publish, repository: at("models"),
			variables: with(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": accountFile}),
		},
		{
			path: "gs://bucket/path", credentials: "TRITON_CLOUD_CREDENTIAL_PATH", publish: publish, repository: at("models"),
			variables: with(map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": credentialFile}),
		},
		{
			path: "gs://bucket/path", credentials: "broken key file", publish: publish, repository: at("models"),
			variables: with(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": document(t, "broken.json", "{}")}), refused: "access denied",
		},
		{path: "gs://bucket/path", credentials: "anonymous, no such bucket", publish: publish, repository: at("none"), variables: with(nil), refused: "not found"},
	}}
}

func azureStore(t *testing.T) realStore {
	address := startAzurite(t)
	newContainer(t, address, "models", false)
	newContainer(t, address, "public", true)
	publish := func(container string) func(t *testing.T, name string, files tree) {
		return func(t *testing.T, name string, files tree) {
			publishAzure(t, address, container, "team/"+name+"/", files)
		}
	}
	at := func(prefix, container string) func(address, name string) string {
		return func(address, name string) string {
			return prefix + address + "/" + azureAccount + "/" + container + "/team/" + name
		}
	}
	keys := map[string]string{"AZURE_STORAGE_ACCOUNT": azureAccount, "AZURE_STORAGE_KEY": azureKey}
	file := document(t, "credentials.json", fmt.Sprintf(`{"as": {"as://http": {"account_str": %q, "account_key": %q}}}`, azureAccount, azureKey))
	const path = "as://http://host:port/account/container/path"
	return realStore{"Azurite", address, []form{
		{path: path, credentials: "account key", publish: publish("models"), repository: at("as://http://", "models"), variables: fixed(keys), faults: true},
		{path: "as://host:port/account/container/path", credentials: "account key", publish: publish("models"), repository: at("as://", "models"), variables: fixed(keys)},
		{path: path, credentials: "TRITON_CLOUD_CREDENTIAL_PATH", publish: publish("models"), repository: at("as://http://", "models"), variables: fixed(map[string]string{"TRITON_CLOUD_CREDENTIAL_PATH": file})},
		{path: path, credentials: "shared access signature", publish: publish("models"), repository: at("as://http://", "models"), variables: fixed(map[string]string{"AZURE_STORAGE_SAS_TOKEN": azureToken(t, "rl")})},
		{path: path, credentials: "anonymous", publish: publish("public"), repository: at("as://http://", "public")},
		{path: path, credentials: "anonymous, private container", publish: publish("models"), repository: at("as://http://", "models"), refused: "listing"},
		{
			path: path, credentials: "wrong key", publish: publish("models"), repository: at("as://http://", "models"),
			variables: fixed(map[string]string{"AZURE_STORAGE_ACCOUNT": azureAccount, "AZURE_STORAGE_KEY": "d3Jvbmc="}), refused: "access denied",
		},
		{path: path, credentials: "account key, no such container", publish: publish("models"), repository: at("as://http://", "none"), variables: fixed(keys), refused: "not found"},
	}}
}

func registryStore(t *testing.T) realStore {
	open, locked := startRegistry(t, ""), startRegistry(t, registryUsers)
	digests := map[string]string{}
	artifact := func(address string) func(t *testing.T, name string, files tree) {
		return func(t *testing.T, name string, files tree) {
			digests[name] = ociRepository{address, "team/models"}.artifact(t, name, files).Digest
		}
	}
	image := func(t *testing.T, name string, files tree) {
		ociRepository{open, "team/images"}.image(t, name, "models", files)
	}
	at := func(repository, end string) func(address, name string) string {
		return func(address, name string) string {
			return "oci://" + address + "/team/" + repository + ":" + name + end
		}
	}
	config := func(address, password string) map[string]string {
		auth := base64.StdEncoding.EncodeToString([]byte(storeUser + ":" + password))
		return map[string]string{"DOCKER_CONFIG": filepath.Dir(document(t, "config.json", fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, address, auth)))}
	}
	private := func(_, name string) string { return "oci://" + locked + "/team/models:" + name }
	return realStore{"distribution (registry)", open, []form{
		{path: "oci://registry/name:tag", credentials: "anonymous, artifact", publish: artifact(open), repository: at("models", ""), faults: true},
		{path: "oci://registry/name:tag?path=/models", credentials: "anonymous, image for two platforms", publish: image, repository: at("images", "?path=/models"), faults: true},
		{
			path: "oci://registry/name@sha256:<digest>", credentials: "anonymous, artifact", publish: artifact(open), fixed: true,
			repository: func(address, name string) string { return "oci://" + address + "/team/models@" + digests[name] },
		},
		{
			path: "oci://registry/name:tag", credentials: "Docker's config.json", publish: artifact(locked), direct: true, repository: private,
			variables: func(string) map[string]string { return config(locked, "geheim") },
		},
		{
			path: "oci://registry/name:tag", credentials: "Docker's config.json, wrong password", publish: artifact(locked), direct: true, repository: private,
			variables: func(string) map[string]string { return config(locked, "falsch") }, refused: "access denied",
		},
		{path: "oci://registry/name:tag", credentials: "anonymous, private registry", publish: artifact(locked), direct: true, repository: private, refused: "access denied"},
		{path: "oci://registry/name:tag", credentials: "anonymous, no such tag", publish: artifact(open), repository: at("models", "-none"), refused: "not found"},
	}}
}

func webStore(t *testing.T) realStore {
	dir := t.TempDir()
	address := strings.TrimPrefix(startWebServer(t, dir), "http://")
	file := func(ending string, checksum bool) func(t *testing.T, name string, files tree) {
		return func(t *testing.T, name string, files tree) {
			publishArchive(t, filepath.Join(dir, name+ending), files, checksum)
		}
	}
	at := func(prefix, end string) func(address, name string) string {
		return func(address, name string) string { return prefix + address + "/" + name + end }
	}
	secret := func(t *testing.T, name string, files tree) {
		publishArchive(t, filepath.Join(dir, "secret", name+".tar"), files, true)
	}
	pinned := func(address, name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name+".tar.gz"))
		require.NoError(t, err)
		return "http://" + address + "/" + name + ".tar.gz#sha256=" + digestOf(text)
	}
	return realStore{"Go's net/http", address, []form{
		{path: "http://host/models.tar.gz", credentials: "anonymous; .sha256 beside it", publish: file(".tar.gz", true), repository: at("http://", ".tar.gz"), faults: true},
		{path: "http://host/models.tar", credentials: "anonymous", publish: file(".tar", false), repository: at("http://", ".tar")},
		{path: "http://host/models.tar.zst", credentials: "anonymous", publish: file(".tar.zst", false), repository: at("http://", ".tar.zst")},
		{path: "http://host/models.zip", credentials: "anonymous", publish: file(".zip", false), repository: at("http://", ".zip")},
		{path: "http://host/models.tar.gz#sha256=<digest>", credentials: "anonymous", publish: file(".tar.gz", false), repository: pinned, fixed: true},
		{
			path: "http://host/models.tar.gz#sha256=<other digest>", credentials: "anonymous", publish: file(".tar.gz", false),
			repository: at("http://", ".tar.gz#sha256="+strings.Repeat("0", 64)), refused: "instead of 0000",
		},
		{path: "http://user:password@host/models.tar", credentials: "in the path", publish: secret, repository: func(address, name string) string {
			return "http://" + storeUser + ":" + storePassword + "@" + address + "/secret/" + name + ".tar"
		}},
		{path: "http://host/models.tar", credentials: "missing", publish: secret, repository: func(address, name string) string { return "http://" + address + "/secret/" + name + ".tar" }, refused: "access denied"},
	}}
}

func pythonStore(t *testing.T) realStore {
	dir := t.TempDir()
	return realStore{"Python's http.server", strings.TrimPrefix(startPythonServer(t, dir), "http://"), []form{
		{
			path: "http://host/models.tar.gz", credentials: "anonymous; no ranges", faults: true,
			without: []remotetest.Fault{remotetest.Stall}, // a stream without ranges is given up after a minute
			publish: func(t *testing.T, name string, files tree) {
				publishArchive(t, filepath.Join(dir, name+".tar.gz"), files, true)
			},
			repository: func(address, name string) string { return "http://" + address + "/" + name + ".tar.gz" },
		},
	}}
}
