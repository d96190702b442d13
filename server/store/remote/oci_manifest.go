package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// PathAnnotation is the annotation of a manifest, or the label of an image, that says which folder
// of an image is the model repository.
const PathAnnotation = "triton.model-repository"

// ociPlatform is the platform whose manifest is taken from an index.
var ociPlatform = "linux/" + runtime.GOARCH

// contents reads the manifest with a digest.
func (s *ociSource) contents(ctx context.Context, digest string) (contents, error) {
	text, digest, mediaType, err := s.manifest(ctx, digest)
	if err != nil {
		return contents{}, err
	}
	if s.opts.Key != nil {
		if err := s.verify(ctx, digest); err != nil {
			return contents{}, err
		}
	}
	if mediaType == ocispec.MediaTypeImageIndex || mediaType == dockerIndex {
		if text, mediaType, err = s.choose(ctx, text); err != nil {
			return contents{}, err
		}
	}
	if mediaType != ocispec.MediaTypeImageManifest && mediaType != dockerManifest {
		return contents{}, fmt.Errorf("%w: a manifest of the type %q is neither an image nor an artifact", ErrRefused, mediaType)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return contents{}, fmt.Errorf("%w: the manifest: %w", ErrRefused, err)
	}
	return s.parts(ctx, m)
}

// choose returns the manifest of an index for this platform.
func (s *ociSource) choose(ctx context.Context, text []byte) ([]byte, string, error) {
	var index ocispec.Index
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, "", fmt.Errorf("%w: the index: %w", ErrRefused, err)
	}
	// Attestations of builds are beside the images, for an unknown platform.
	all := slices.DeleteFunc(index.Manifests, func(d ocispec.Descriptor) bool { return platformOf(d) == "unknown/unknown" })
	i := slices.IndexFunc(all, func(d ocispec.Descriptor) bool { return platformOf(d) == ociPlatform })
	if len(all) == 1 && platformOf(all[0]) == "" {
		i = 0 // an artifact, for any platform
	}
	if i < 0 {
		var names []string
		for _, d := range all {
			names = append(names, platformOf(d))
		}
		return nil, "", fmt.Errorf("%w: there is no image for %s, only for %s", ErrNotFound, ociPlatform, strings.Join(names, ", "))
	}
	text, _, mediaType, err := s.manifest(ctx, all[i].Digest.String())
	return text, mediaType, err
}

func platformOf(d ocispec.Descriptor) string {
	if d.Platform == nil {
		return ""
	}
	return d.Platform.OS + "/" + d.Platform.Architecture
}

// parts returns the layers of a manifest.
func (s *ociSource) parts(ctx context.Context, m ocispec.Manifest) (contents, error) {
	c := contents{Within: s.at.within}
	for _, d := range m.Layers {
		digest := d.Digest.String()
		if !isOCIDigest(digest) {
			return c, fmt.Errorf("%w: the layer %q has no SHA-256 digest", ErrRefused, digest)
		}
		hex := strings.TrimPrefix(digest, "sha256:")
		p := part{Object: Object{Name: digest, Size: d.Size, Tag: digest, Digest: hex}}
		if p.Kind, p.Path = kindOf(d); p.Kind == "" {
			return c, fmt.Errorf("%w: the layer %s of the type %q is no archive, and has no annotation %s with the name of its file",
				ErrRefused, digest, d.MediaType, ocispec.AnnotationTitle)
		}
		c.Parts = append(c.Parts, p)
	}
	if c.Within != "" {
		return c, nil
	}
	path := m.Annotations[PathAnnotation]
	if path == "" {
		label, err := s.label(ctx, m.Config)
		if err != nil {
			return c, err
		}
		path = label
	}
	c.Within = strings.Trim(path, "/")
	return c, nil
}

// label returns the label of an image that says where the repository is.
func (s *ociSource) label(ctx context.Context, config ocispec.Descriptor) (string, error) {
	if config.MediaType != ocispec.MediaTypeImageConfig && config.MediaType != dockerConfig {
		return "", nil
	}
	text, err := s.blob(ctx, config)
	if err != nil {
		return "", fmt.Errorf("reading the configuration of the image: %w", err)
	}
	var image ocispec.Image
	if err := json.Unmarshal(text, &image); err != nil {
		return "", fmt.Errorf("%w: the configuration of the image: %w", ErrRefused, err)
	}
	return image.Config.Labels[PathAnnotation], nil
}
