package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// options describe an image.
type options struct {
	name        string
	created     time.Time
	user        string
	workdir     string
	entrypoint  []string
	command     []string
	environment []string
	ports       []string
	labels      map[string]string
	platforms   []platform
}

// platform is one machine that the image is for.
type platform struct {
	name    string // "linux/arm64"
	folders []string
}

// archive collects the blobs of an image.
type archive struct {
	blobs map[digest.Digest][]byte
}

func (a *archive) add(mediaType string, content []byte) ocispec.Descriptor {
	d := digest.FromBytes(content)
	a.blobs[d] = content
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(content))}
}

func (a *archive) addJSON(mediaType string, v any) (ocispec.Descriptor, error) {
	content, err := json.Marshal(v) // keys of maps are sorted
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return a.add(mediaType, content), nil
}

// write writes the archive and returns the sizes of its layers.
func write(output string, o options) (report string, err error) {
	a := &archive{blobs: map[digest.Digest][]byte{}}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Annotations: annotations(o)}
	var text strings.Builder
	for _, p := range o.platforms {
		manifest, lines, err := a.addPlatform(o, p)
		if err != nil {
			return "", err
		}
		index.Manifests = append(index.Manifests, manifest)
		text.WriteString(lines)
	}
	root, err := a.addJSON(ocispec.MediaTypeImageIndex, index)
	if err != nil {
		return "", err
	}
	tag := o.name[strings.LastIndexByte(o.name, ':')+1:]
	root.Annotations = map[string]string{ocispec.AnnotationRefName: tag, "io.containerd.image.name": o.name}
	top, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{root}})
	if err != nil {
		return "", err
	}
	layout, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return "", err
	}
	files := map[string][]byte{ocispec.ImageLayoutFile: layout, ocispec.ImageIndexFile: top}
	for d, content := range a.blobs {
		files["blobs/sha256/"+d.Encoded()] = content
	}
	fmt.Fprintf(&text, "%s %s\n", output, root.Digest)
	return text.String(), writeTar(output, files, o.created)
}

// addPlatform adds the image of one platform.
func (a *archive) addPlatform(o options, p platform) (ocispec.Descriptor, string, error) {
	system, machine, ok := strings.Cut(p.name, "/")
	if !ok {
		return ocispec.Descriptor{}, "", fmt.Errorf("%q is not a platform like linux/amd64", p.name)
	}
	config := ocispec.Image{
		Created: &o.created, Platform: ocispec.Platform{OS: system, Architecture: machine},
		Config: ocispec.ImageConfig{User: o.user, WorkingDir: o.workdir, Entrypoint: o.entrypoint, Cmd: o.command, Env: o.environment, Labels: o.labels, StopSignal: "SIGTERM"},
		RootFS: ocispec.RootFS{Type: "layers"},
	}
	for _, port := range o.ports {
		if config.Config.ExposedPorts == nil {
			config.Config.ExposedPorts = map[string]struct{}{}
		}
		config.Config.ExposedPorts[port+"/tcp"] = struct{}{}
	}
	manifest := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Annotations: annotations(o)}
	var text strings.Builder
	var packed, unpacked int64
	for _, folder := range p.folders {
		l, err := newLayer(folder, o.created)
		if err != nil {
			return ocispec.Descriptor{}, "", err
		}
		manifest.Layers = append(manifest.Layers, a.add(ocispec.MediaTypeImageLayerGzip, l.compressed))
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, l.diffID)
		config.History = append(config.History, ocispec.History{Created: &o.created, CreatedBy: "layer " + folder[strings.LastIndexByte(folder, '/')+1:]})
		fmt.Fprintf(&text, "%s layer %s: %d bytes, %d compressed\n", p.name, folder, l.size, len(l.compressed))
		packed, unpacked = packed+int64(len(l.compressed)), unpacked+l.size
	}
	var err error
	if manifest.Config, err = a.addJSON(ocispec.MediaTypeImageConfig, config); err != nil {
		return ocispec.Descriptor{}, "", err
	}
	d, err := a.addJSON(ocispec.MediaTypeImageManifest, manifest)
	d.Platform = &ocispec.Platform{OS: system, Architecture: machine}
	fmt.Fprintf(&text, "%s total: %d bytes, %d compressed\n", p.name, unpacked, packed)
	return d, text.String(), err
}

// annotations are the labels that have names of the specification.
func annotations(o options) map[string]string {
	a := map[string]string{ocispec.AnnotationCreated: o.created.Format(time.RFC3339)}
	for key, value := range o.labels {
		if strings.HasPrefix(key, "org.opencontainers.image.") {
			a[key] = value
		}
	}
	return a
}

// writeTar writes files in the order of their names.
func writeTar(output string, files map[string][]byte, modified time.Time) error {
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	out := tar.NewWriter(f)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err = errors.Join(out.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644, ModTime: modified}))
		if err == nil {
			_, err = bytes.NewReader(files[name]).WriteTo(out)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, out.Close(), f.Close())
}
