package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// unpack writes the file system of one platform of an archive into a folder, so that it can be
// run under a chroot.
func unpack(name, platform, folder string) error {
	files, err := readTar(name)
	if err != nil {
		return err
	}
	blob := func(d ocispec.Descriptor) ([]byte, error) {
		content, ok := files["blobs/sha256/"+d.Digest.Encoded()]
		if !ok || digest.FromBytes(content) != d.Digest {
			return nil, fmt.Errorf("%s: blob %s is missing or broken", name, d.Digest)
		}
		return content, nil
	}
	var index ocispec.Index
	if err := json.Unmarshal(files[ocispec.ImageIndexFile], &index); err != nil {
		return fmt.Errorf("%s: index: %w", name, err)
	}
	for _, d := range index.Manifests {
		content, err := blob(d)
		if err == nil {
			err = json.Unmarshal(content, &index)
		}
		if err != nil {
			return err
		}
	}
	for _, d := range index.Manifests {
		if d.Platform == nil || d.Platform.OS+"/"+d.Platform.Architecture != platform {
			continue
		}
		content, err := blob(d)
		var manifest ocispec.Manifest
		if err == nil {
			err = json.Unmarshal(content, &manifest)
		}
		if err != nil {
			return err
		}
		root, err := os.OpenRoot(folder)
		if err != nil {
			return err
		}
		defer root.Close()
		for _, l := range manifest.Layers {
			content, err := blob(l)
			if err != nil {
				return err
			}
			if err := unpackLayer(root, content); err != nil {
				return fmt.Errorf("layer %s: %w", l.Digest, err)
			}
		}
		return nil
	}
	return fmt.Errorf("%s has no image for %s", name, platform)
}

func readTar(name string) (map[string][]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err == nil {
			files[h.Name], err = io.ReadAll(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

func unpackLayer(root *os.Root, content []byte) error {
	zip, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpackEntry(root, h, r)
		}
		if err != nil {
			return err
		}
	}
}

func unpackEntry(root *os.Root, h *tar.Header, content io.Reader) error {
	name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
		return root.Chmod(name, mode)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	}
	return fmt.Errorf("%s: entries of type %q are not written by this program", h.Name, h.Typeflag)
}
