package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

// Credentials of the servers of the lane.
const (
	storeUser     = "modeler"
	storePassword = "geheim-geheim"
	azureAccount  = "devstoreaccount1"
	azureKey      = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==" // Azurite's own, which is public
	// registryUsers lets storeUser in with the password "geheim".
	registryUsers = "modeler:$2a$05$bBI.O5rO7CP/t8b63Zv2..yu/lIh4cF/D3Bxejtdgv2o0bdlLmSbe\n"
)

// storePrograms returns the folder with the servers, and skips the test without one.
func storePrograms(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TRITON_STORES")
	if dir == "" {
		t.Skip("TRITON_STORES is not set: it is the folder with the real servers that `make stores` installs")
	}
	return dir
}

// startProgram starts a server and waits until it answers.
func startProgram(t *testing.T, probe string, variables []string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = t.TempDir()
	c.Env = append(append(os.Environ(), "HOME="+c.Dir), variables...)
	output, err := os.Create(filepath.Join(c.Dir, "output"))
	require.NoError(t, err)
	defer output.Close()
	c.Stdout, c.Stderr = output, output
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		c.Process.Kill() //nolint:errcheck // it may have ended
		c.Wait()         //nolint:errcheck // it was killed
	})
	answers := func() bool {
		resp, err := http.Get(probe)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode < http.StatusInternalServerError
	}
	for deadline := time.Now().Add(time.Minute); !answers(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(output.Name())
			t.Fatalf("%s does not answer: %s", name, text)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// startMinIO returns the address of a MinIO server, with TLS if certificates has its certificate.
func startMinIO(t *testing.T, certificates string) (address string) {
	t.Helper()
	address = sharedtest.Address(t)
	console := sharedtest.Address(t)
	args := []string{"server", "--quiet", "--address", address, "--console-address", console, "--certs-dir", t.TempDir(), t.TempDir()}
	scheme := "http"
	if certificates != "" {
		args[7], scheme = certificates, "https"
	}
	startProgram(t, scheme+"://"+address+"/minio/health/live",
		[]string{"MINIO_ROOT_USER=" + storeUser, "MINIO_ROOT_PASSWORD=" + storePassword, "MINIO_BROWSER=off"}, storePrograms(t)+"/minio", args...)
	return address
}

func startFakeGCS(t *testing.T) (address string) {
	t.Helper()
	port := sharedtest.Port(t)
	address = net.JoinHostPort("127.0.0.1", port)
	startProgram(t, "http://"+address+"/storage/v1/b", nil, storePrograms(t)+"/fake-gcs-server",
		"-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-log-level", "error")
	return address
}

func startAzurite(t *testing.T) (address string) {
	t.Helper()
	port := sharedtest.Port(t)
	address = net.JoinHostPort("127.0.0.1", port)
	startProgram(t, "http://"+address+"/", nil, "node", storePrograms(t)+"/node_modules/azurite/dist/src/blob/main.js",
		"--blobHost", "127.0.0.1", "--blobPort", port, "--location", t.TempDir(), "--silent", "--skipApiVersionCheck")
	return address
}

// startRegistry returns the address of a registry, with the users of an htpasswd file if it is not empty.
func startRegistry(t *testing.T, users string) (address string) {
	t.Helper()
	address = sharedtest.Address(t)
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %s}\n", dir, address)
	if users != "" {
		path := filepath.Join(dir, "users")
		require.NoError(t, os.WriteFile(path, []byte(users), 0o600))
		config += fmt.Sprintf("auth: {htpasswd: {realm: models, path: %s}}\n", path)
	}
	path := filepath.Join(dir, "config.yml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	startProgram(t, "http://"+address+"/v2/", nil, storePrograms(t)+"/registry", "serve", path)
	return address
}

// startWebServer serves a folder, with the password for paths below /secret/.
func startWebServer(t *testing.T, dir string) (url string) {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); strings.HasPrefix(r.URL.Path, "/secret/") &&
			(user != storeUser || password != storePassword) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// startPythonServer serves a folder by a server that knows no ranges.
func startPythonServer(t *testing.T, dir string) (url string) {
	t.Helper()
	port := sharedtest.Port(t)
	address := net.JoinHostPort("127.0.0.1", port)
	startProgram(t, "http://"+address+"/", nil, "python3", "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", dir)
	return "http://" + address
}

// newCertificate makes a certificate of 127.0.0.1 that this process and its children trust, and
// returns the folder with it, in MinIO's form.
func newCertificate(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stores"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name, kind string, der []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	write("public.crt", "CERTIFICATE", der)
	write("private.key", "PRIVATE KEY", private)
	t.Setenv("SSL_CERT_FILE", filepath.Join(dir, "public.crt")) // read at the first TLS connection of the process
	return dir
}
