package remote

import (
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Annotations of layers of artifacts: of oras, which packs folders, and of the model specification
// of the CNCF.
const (
	unpackAnnotation   = "io.deis.oras.content.unpack"
	filepathAnnotation = "org.cncf.model.filepath"
	modelTypes         = "application/vnd.cncf.model."
)

// Types of Docker that mean the same as those of OCI.
const (
	dockerConfig = "application/vnd.docker.container.image.v1+json"
	dockerLayers = "application/vnd.docker.image.rootfs."
	ociLayers    = "application/vnd.oci.image.layer."
)

// kindOf returns how a layer is read, and the name of a file. A named archive is a file of a model,
// such as an execution environment, unless it says that it is to be unpacked.
func kindOf(d ocispec.Descriptor) (kind partKind, path string) {
	title := d.Annotations[ocispec.AnnotationTitle]
	if title == "" {
		title = d.Annotations[filepathAnnotation]
	}
	switch {
	case d.Annotations[unpackAnnotation] == "true":
		return partArchive, ""
	case isArchive(d.MediaType) && strings.HasPrefix(d.MediaType, modelTypes):
		return partArchive, ""
	case title != "":
		return partPlain, title
	case strings.HasPrefix(d.MediaType, ociLayers), strings.HasPrefix(d.MediaType, dockerLayers):
		return partLayer, ""
	case isArchive(d.MediaType):
		return partArchive, ""
	}
	return "", ""
}

// isArchive reports whether a media type is one of archives.
func isArchive(mediaType string) bool {
	for _, end := range []string{".tar", ".tar+gzip", ".tar+zstd", ".tar.gzip", "/x-tar", "/x-gtar", "/gzip", "/x-gzip", "/zstd", "/zip", "+zip"} {
		if strings.HasSuffix(mediaType, end) {
			return true
		}
	}
	return false
}
