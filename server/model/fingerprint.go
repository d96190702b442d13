package model

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
)

// fingerprint identifies what the answers of one load of a version depend on. The same
// model loaded again, in this process or after a restart, has the same fingerprint, and so
// has the model on other servers that share the cache. The fingerprint covers
//
//   - the model's name and the version's number,
//   - the configuration as the backend completed it, without instance groups and version
//     policy, which do not change answers,
//   - the names and contents of the files in the version's directory and beside the
//     versions, and of the custom operators' libraries,
//   - for an ensemble, instead of files: the fingerprints of the versions that its steps
//     use.
//
// It does not cover the location and the age of the files, how often the model was loaded,
// or files that the backend reads from other places. A changed model never has the
// fingerprint of the model before: the files are observed before the backend reads them, and
// again when their contents are hashed. If they were changed in between, it is unknown what
// the backend has read, and the fingerprint is random. It is also random when a file cannot
// be read.
type fingerprint struct {
	files     fingerprintFiles
	composing []*fingerprint // of an ensemble, by step

	before [sha256.Size]byte // the files as they were before the load
	err    error             // why they could not be observed

	model, version string
	config         *inferencepb.ModelConfig

	once         sync.Once
	text         string
	randomReason error // why text is random; nil: it is not
}

// fingerprintFiles are the files of a version.
type fingerprintFiles struct {
	Dir         string   // the model's directory
	Version     string   // the version's folder in Dir
	ConfigEntry string   // the file or folder in Dir that has the configuration; it is not hashed
	Libraries   []string // paths of the custom operators
	// Fixed reports that nothing writes to the files, while their inodes may change.
	Fixed bool
}

// observeFiles returns the fingerprint of a version that is about to be loaded from files.
func observeFiles(files fingerprintFiles) *fingerprint {
	f := &fingerprint{files: files}
	f.before, f.err = f.sum(f.hashTime())
	return f
}

// ensembleFingerprint returns the fingerprint of an ensemble. composing are the fingerprints of the
// versions that its steps use, by step.
func ensembleFingerprint(composing []*fingerprint) *fingerprint {
	return &fingerprint{composing: composing}
}

// Complete sets the model's name, the version and the completed configuration, which must not
// be changed afterwards. It is called before Text.
func (f *fingerprint) Complete(model, version string, c *inferencepb.ModelConfig) {
	f.model, f.version, f.config = model, version, c
}

// errChanged makes a fingerprint random: the backend may not have read the files that would
// be hashed.
var errChanged = errors.New("files were changed while the model was loaded")

// Text returns the fingerprint. The first call reads all files.
func (f *fingerprint) Text() string {
	f.once.Do(func() {
		if f.text, f.randomReason = f.compute(); f.randomReason != nil {
			f.text = rand.Text()
		}
	})
	return f.text
}

// RandomReason returns why Text has returned a random fingerprint; nil when it is not random.
func (f *fingerprint) RandomReason() error { return f.randomReason }

func (f *fingerprint) compute() (string, error) {
	config := proto.CloneOf(f.config)
	config.InstanceGroup, config.VersionPolicy = nil, nil
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(config)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", f.model, f.version, text)
	if f.composing != nil {
		for _, p := range f.composing {
			fmt.Fprintf(h, "%q\n", p.Text())
		}
		return string(h.Sum(nil)), nil
	}
	files, err := f.sum(hashContent)
	if err == nil {
		err = f.err
	}
	if err != nil {
		return "", err
	}
	after, err := f.sum(f.hashTime())
	if err != nil {
		return "", err
	}
	if after != f.before {
		return "", errChanged
	}
	h.Write(files[:])
	return string(h.Sum(nil)), nil
}
