package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Cosign keeps signatures beside what they sign: in an image with a tag made from its digest, whose
// layers are signed documents that name the digest.
const (
	signedDocument      = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// verify returns an error unless one of the signatures of a digest was made with the key.
func (s *ociSource) verify(ctx context.Context, digest string) error {
	tag := strings.Replace(digest, ":", "-", 1) + ".sig"
	text, _, _, err := s.manifest(ctx, tag)
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("%w: a public key is set, and the registry has no signature of %s (tag %s)", ErrRefused, digest, tag)
	case err != nil:
		return fmt.Errorf("reading the signature: %w", err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%w: the signature of %s: %w", ErrRefused, digest, err)
	}
	reason := errors.New("there is none")
	for _, d := range m.Layers {
		if d.MediaType != signedDocument {
			continue
		}
		if reason = s.verifyOne(ctx, d, digest); reason == nil || !errors.Is(reason, ErrRefused) {
			return reason
		}
	}
	return fmt.Errorf("%w: no signature of %s was made with the public key: %w", ErrRefused, digest, reason)
}

// signedByCosign is what cosign signs.
type signedByCosign struct {
	Critical struct {
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
}

func (s *ociSource) verifyOne(ctx context.Context, d ocispec.Descriptor, digest string) error {
	text, err := s.blob(ctx, d)
	if err != nil {
		return err
	}
	if err := s.opts.Key.Verify(strings.TrimPrefix(d.Digest.String(), "sha256:"), []byte(d.Annotations[signatureAnnotation])); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var signed signedByCosign
	if err := json.Unmarshal(text, &signed); err != nil {
		return fmt.Errorf("%w: the signed document: %w", ErrRefused, err)
	}
	if signed.Critical.Image.Digest != digest {
		return fmt.Errorf("%w: the signed document is about %s", ErrRefused, signed.Critical.Image.Digest)
	}
	return nil
}
