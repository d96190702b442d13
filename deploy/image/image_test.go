package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
)

// tree writes the same files with modes and times that differ from one call to the next.
func tree(t *testing.T, mask os.FileMode, at time.Time) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "program")
	for name, mode := range map[string]os.FileMode{"usr/bin/triton": 0o755, "etc/triton.yaml": 0o644} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(name), mode))
		require.NoError(t, os.Chmod(path, mode&^mask))
		require.NoError(t, os.Chtimes(path, at, at))
	}
	require.NoError(t, os.Symlink("triton", filepath.Join(dir, "usr/bin/tritonserver")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky))
	return dir
}

func build(t *testing.T, folders ...string) []byte {
	t.Helper()
	output := filepath.Join(t.TempDir(), "image.tar")
	args := []string{
		"-output", output, "-epoch", "1700000000", "-name", "triton:1.2", "-entrypoint", "/usr/bin/tritonserver --x", "-ports", "8000 8001",
		"-env", "PATH=/usr/bin", "-labels", "org.opencontainers.image.version=1.2;own=y",
	}
	require.NoError(t, run(append(args, folders...)))
	content, err := os.ReadFile(output)
	require.NoError(t, err)
	return content
}

func TestReproducible(t *testing.T) {
	t.Parallel()
	a := build(t, "linux/amd64="+tree(t, 0, time.Unix(1, 0)), "linux/arm64="+tree(t, 0o022, time.Unix(1, 0)))
	b := build(t, "linux/amd64="+tree(t, 0o077, time.Unix(9, 9)), "linux/arm64="+tree(t, 0, time.Unix(9, 9)))
	require.Equal(t, a, b)
}

// read returns the files of an archive and checks the digest of each blob.
func read(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.Equal(t, int64(1700000000), h.ModTime.Unix())
		files[h.Name], err = io.ReadAll(r)
		require.NoError(t, err)
		if hash, ok := bytes.CutPrefix([]byte(h.Name), []byte("blobs/sha256/")); ok {
			require.Equal(t, string(hash), digest.FromBytes(files[h.Name]).Encoded())
		}
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	files := read(t, build(t, "linux/arm64="+tree(t, 0, time.Unix(5, 0))))
	follow := func(d ocispec.Descriptor, into any) {
		blob := files["blobs/sha256/"+d.Digest.Encoded()]
		require.Len(t, blob, int(d.Size))
		require.NoError(t, json.Unmarshal(blob, into))
	}
	require.JSONEq(t, `{"imageLayoutVersion":"1.0.0"}`, string(files["oci-layout"]))
	var top, index ocispec.Index
	require.NoError(t, json.Unmarshal(files["index.json"], &top))
	require.Equal(t, "1.2", top.Manifests[0].Annotations[ocispec.AnnotationRefName])
	follow(top.Manifests[0], &index)
	require.Equal(t, map[string]string{ocispec.AnnotationVersion: "1.2", ocispec.AnnotationCreated: "2023-11-14T22:13:20Z"}, index.Annotations)
	require.Equal(t, "arm64", index.Manifests[0].Platform.Architecture)
	var manifest ocispec.Manifest
	follow(index.Manifests[0], &manifest)
	var config ocispec.Image
	follow(manifest.Config, &config)
	require.Equal(t, "65532:65532", config.Config.User)
	require.Equal(t, []string{"/usr/bin/tritonserver", "--x"}, config.Config.Entrypoint)
	require.Contains(t, config.Config.ExposedPorts, "8001/tcp")
	require.Equal(t, "y", config.Config.Labels["own"])

	zip, err := gzip.NewReader(bytes.NewReader(files["blobs/sha256/"+manifest.Layers[0].Digest.Encoded()]))
	require.NoError(t, err)
	packed, err := io.ReadAll(zip)
	require.NoError(t, err)
	require.Equal(t, digest.FromBytes(packed), config.RootFS.DiffIDs[0])
	type entry struct {
		name, link string
		mode       int64
	}
	var entries []entry
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Zero(t, h.Uid+h.Gid)
		require.Equal(t, int64(1700000000), h.ModTime.Unix())
		entries = append(entries, entry{h.Name, h.Linkname, h.Mode})
	}
	require.Equal(t, []entry{
		{"etc/", "", 0o755},
		{"etc/triton.yaml", "", 0o644},
		{"tmp/", "", 0o1777},
		{"usr/", "", 0o755},
		{"usr/bin/", "", 0o755},
		{"usr/bin/triton", "", 0o755},
		{"usr/bin/tritonserver", "triton", 0o777},
	}, entries)
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "image.tar")
	content := build(t, "linux/amd64="+tree(t, 0, time.Unix(5, 0)))
	require.NoError(t, os.WriteFile(archive, content, 0o600))
	folder := t.TempDir()
	require.NoError(t, run([]string{"-unpack", folder, archive, "linux/amd64"}))
	text, err := os.ReadFile(filepath.Join(folder, "usr/bin/tritonserver"))
	require.NoError(t, err)
	require.Equal(t, "usr/bin/triton", string(text))
	info, err := os.Stat(filepath.Join(folder, "tmp"))
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|os.ModeSticky|0o777, info.Mode())

	require.ErrorContains(t, run([]string{"-unpack", folder, archive, "linux/arm64"}), "no image for linux/arm64")
	require.ErrorContains(t, run([]string{"-unpack", folder, archive}), "usage")
	require.ErrorContains(t, run([]string{"-unpack", folder, archive + "x", "linux/amd64"}), "no such file")
	broken := bytes.ReplaceAll(content, []byte(`"os":"linux"`), []byte(`"os":"LINUX"`))
	require.NoError(t, os.WriteFile(archive, broken, 0o600))
	require.ErrorContains(t, run([]string{"-unpack", t.TempDir(), archive, "linux/amd64"}), "missing or broken")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output := filepath.Join(t.TempDir(), "x")
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	defer l.Close()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage"},
		{[]string{"-output", output}, "usage"},
		{[]string{"-output", output, "linux/amd64"}, "is not PLATFORM"},
		{[]string{"-output", output, "amd64=" + t.TempDir()}, "is not a platform"},
		{[]string{"-output", output, "linux/amd64=/no/such"}, "/no/such"},
		{[]string{"-output", output, "linux/amd64=" + dir}, "neither a file nor a folder"},
	} {
		require.ErrorContains(t, run(c.args), c.want)
	}
}
