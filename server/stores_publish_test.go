package server_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// tree is the files of a repository.
type tree map[string]string

// send sends a request and returns the answer of a success.
func send(t *testing.T, method, address string, body []byte, change func(r *http.Request)) (http.Header, []byte) {
	t.Helper()
	r, err := http.NewRequest(method, address, bytes.NewReader(body))
	require.NoError(t, err)
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 300, "%s %s: %s", method, address, text)
	return resp.Header, text
}

func s3Client(t *testing.T, address string, secure bool) *minio.Client {
	t.Helper()
	c, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(storeUser, storePassword, ""), Secure: secure})
	require.NoError(t, err)
	return c
}

// newBucket makes a bucket, which everybody may read if it is public.
func newBucket(t *testing.T, c *minio.Client, name string, public bool) {
	t.Helper()
	require.NoError(t, c.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}))
	if public {
		policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":["*"]},"Action":["s3:GetObject","s3:ListBucket"],"Resource":["arn:aws:s3:::` + name + `","arn:aws:s3:::` + name + `/*"]}]}`
		require.NoError(t, c.SetBucketPolicy(t.Context(), name, policy))
	}
}

func publishS3(t *testing.T, c *minio.Client, bucket, prefix string, files tree) {
	t.Helper()
	for name, text := range files {
		_, err := c.PutObject(t.Context(), bucket, prefix+name, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{DisableMultipart: true})
		require.NoError(t, err)
	}
}

func publishGCS(t *testing.T, address, bucket, prefix string, files tree) {
	t.Helper()
	for name, text := range files {
		send(t, http.MethodPost, "http://"+address+"/upload/storage/v1/b/"+bucket+"/o?uploadType=media&name="+url.QueryEscape(prefix+name), []byte(text), nil)
	}
}

// azureToken returns a shared access signature of the account with the given rights.
func azureToken(t *testing.T, rights string) string {
	t.Helper()
	const version = "2020-12-06"
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	text := strings.Join([]string{azureAccount, rights, "b", "sco", "", end, "", "", version, "", ""}, "\n")
	key, err := base64.StdEncoding.DecodeString(azureKey)
	require.NoError(t, err)
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return url.Values{"sv": {version}, "ss": {"b"}, "srt": {"sco"}, "sp": {rights}, "se": {end}, "sig": {base64.StdEncoding.EncodeToString(h.Sum(nil))}}.Encode()
}

func newContainer(t *testing.T, address, name string, public bool) {
	t.Helper()
	send(t, http.MethodPut, "http://"+address+"/"+azureAccount+"/"+name+"?restype=container&"+azureToken(t, "rwdlac"), nil, func(r *http.Request) {
		if public {
			r.Header.Set("x-ms-blob-public-access", "container")
		}
	})
}

func publishAzure(t *testing.T, address, container, prefix string, files tree) {
	t.Helper()
	for name, text := range files {
		send(t, http.MethodPut, "http://"+address+"/"+azureAccount+"/"+container+"/"+prefix+name+"?"+azureToken(t, "rwdlac"), []byte(text),
			func(r *http.Request) { r.Header.Set("x-ms-blob-type", "BlockBlob") })
	}
}

// descriptor is a reference of a manifest.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    map[string]string `json:"platform,omitempty"`
}

// ociRepository pushes to a registry.
type ociRepository struct{ address, name string }

func (o ociRepository) login(r *http.Request) { r.SetBasicAuth(storeUser, "geheim") }

func (o ociRepository) blob(t *testing.T, mediaType string, text []byte, title string) descriptor {
	t.Helper()
	d := descriptor{MediaType: mediaType, Digest: "sha256:" + digestOf(text), Size: len(text)}
	if title != "" {
		d.Annotations = map[string]string{"org.opencontainers.image.title": title}
	}
	header, _ := send(t, http.MethodPost, "http://"+o.address+"/v2/"+o.name+"/blobs/uploads/", nil, o.login)
	at, err := url.Parse(header.Get("Location"))
	require.NoError(t, err)
	q := at.Query()
	q.Set("digest", d.Digest)
	at.RawQuery = q.Encode()
	at.Scheme, at.Host = "http", o.address
	send(t, http.MethodPut, at.String(), text, func(r *http.Request) {
		o.login(r)
		r.Header.Set("Content-Type", "application/octet-stream")
	})
	return d
}

func (o ociRepository) put(t *testing.T, tag, mediaType string, document map[string]any) descriptor {
	t.Helper()
	document["schemaVersion"], document["mediaType"] = 2, mediaType
	text, err := json.Marshal(document)
	require.NoError(t, err)
	send(t, http.MethodPut, "http://"+o.address+"/v2/"+o.name+"/manifests/"+tag, text, func(r *http.Request) {
		o.login(r)
		r.Header.Set("Content-Type", mediaType)
	})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digestOf(text), Size: len(text)}
}

const ociManifest = "application/vnd.oci.image.manifest.v1+json"

// artifact pushes an artifact with a layer for each file.
func (o ociRepository) artifact(t *testing.T, tag string, files tree) descriptor {
	t.Helper()
	var layers []descriptor
	for _, name := range slices.Sorted(maps.Keys(files)) {
		layers = append(layers, o.blob(t, "application/octet-stream", []byte(files[name]), name))
	}
	return o.put(t, tag, ociManifest, map[string]any{"config": o.blob(t, "application/vnd.oci.empty.v1+json", []byte("{}"), ""), "layers": layers})
}

// image pushes an image for two platforms, with the files below a folder, in two layers.
func (o ociRepository) image(t *testing.T, tag, folder string, files tree) descriptor {
	t.Helper()
	lower, upper := tree{"etc/passwd": "root"}, tree{}
	for name, text := range files {
		lower[folder+"/"+name] = "of the lower layer"
		upper[folder+"/"+name] = text
	}
	lower[folder+"/removed/config.pbtxt"], upper[folder+"/.wh.removed"] = "", ""
	const layer = "application/vnd.oci.image.layer.v1.tar+gzip"
	var all []descriptor
	for _, arch := range []string{runtime.GOARCH, "s390x"} {
		config := o.blob(t, "application/vnd.oci.image.config.v1+json", []byte(`{"architecture":"`+arch+`","os":"linux"}`), "")
		layers := []descriptor{o.blob(t, layer, packTarGzip(t, lower), ""), o.blob(t, layer, packTarGzip(t, upper), "")}
		if arch == "s390x" {
			layers = layers[:1]
		}
		d := o.put(t, tag+"-"+arch, ociManifest, map[string]any{"config": config, "layers": layers})
		d.Platform = map[string]string{"os": "linux", "architecture": arch}
		all = append(all, d)
	}
	return o.put(t, tag, "application/vnd.oci.image.index.v1+json", map[string]any{"manifests": all})
}

func packTar(t *testing.T, files tree) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644}))
		_, err := io.WriteString(w, files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func packTarGzip(t *testing.T, files tree) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(packTar(t, files))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// pack packs files by the ending of a name.
func pack(t *testing.T, name string, files tree) []byte {
	t.Helper()
	switch filepath.Ext(name) {
	case ".tar":
		return packTar(t, files)
	case ".gz":
		return packTarGzip(t, files)
	case ".zst":
		w, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		return w.EncodeAll(packTar(t, files), nil)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(f, files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// publishArchive writes an archive into the folder of a web server, with its checksum beside it.
// Each archive is newer than the one before it, by the seconds that Last-Modified has.
func publishArchive(t *testing.T, path string, files tree, checksum bool) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	text := pack(t, path, files)
	at := time.Now()
	if info, err := os.Stat(path); err == nil {
		at = info.ModTime().Add(2 * time.Second)
	}
	temp := path + ".new"
	require.NoError(t, os.WriteFile(temp, text, 0o600))
	require.NoError(t, os.Chtimes(temp, at, at))
	if checksum {
		require.NoError(t, os.WriteFile(path+".sha256", fmt.Appendf(nil, "%s  %s\n", digestOf(text), filepath.Base(path)), 0o600))
	}
	require.NoError(t, os.Rename(temp, path))
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// tarWriter writes files into an archive.
type tarWriter struct{ *tar.Writer }

func newTarWriter(to io.Writer) tarWriter { return tarWriter{tar.NewWriter(to)} }

func (w tarWriter) add(t *testing.T, name string, text []byte) {
	t.Helper()
	w.stream(t, name, int64(len(text)), bytes.NewReader(text))
}

func (w tarWriter) stream(t *testing.T, name string, size int64, from io.Reader) {
	t.Helper()
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644}))
	_, err := io.CopyN(w, from, size)
	require.NoError(t, err)
}
