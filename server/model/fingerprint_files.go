package model

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"triton/server/store"
)

// fileHasher hashes one file: its content, or only the time of its last change.
type fileHasher func(w io.Writer, path string, info fs.FileInfo) error

// sum hashes all files of the version with hashFile.
func (f *fingerprint) sum(hashFile fileHasher) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	entries, err := os.ReadDir(f.files.Dir)
	for _, e := range entries {
		name := e.Name()
		if err != nil || name == f.files.ConfigEntry || store.IsVersion(name) && name != f.files.Version {
			continue
		}
		hashedName := name
		if name == f.files.Version {
			hashedName = "." // 1 and 01 are one version
		}
		err = hashTree(h, filepath.Join(f.files.Dir, name), hashedName, maxFileNesting, hashFile)
	}
	for i, path := range f.files.Libraries {
		if err == nil {
			err = hashTree(h, path, fmt.Sprint("library ", i), 0, hashFile)
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}

// maxFileNesting bounds how deep a folder is read: links may form circles.
const maxFileNesting = 16

// pycache is the folder in which Python caches compiled files.
const pycache = "__pycache__"

// hashTree hashes all files at or below a path, in the order of their names. Links
// are followed.
func hashTree(w io.Writer, path, name string, depth int, hashFile fileHasher) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		fmt.Fprintf(w, "%q %d\n", name, info.Size())
		return hashFile(w, path, info)
	}
	if depth == 0 {
		return fmt.Errorf("%s: folders are nested more than %d deep", path, maxFileNesting)
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if err == nil && e.Name() != pycache {
			err = hashTree(w, filepath.Join(path, e.Name()), name+"/"+e.Name(), depth-1, hashFile)
		}
	}
	return err
}

// hashTime returns the hasher that finds changes without reading the files.
func (f *fingerprint) hashTime() fileHasher {
	if f.files.Fixed {
		return hashModTime
	}
	return hashChangeTime
}

// hashModTime hashes the time at which the content of a file was written.
func hashModTime(w io.Writer, _ string, info fs.FileInfo) error {
	_, err := fmt.Fprintf(w, "%d\n", info.ModTime().UnixNano())
	return err
}

// hashChangeTime hashes the time of the last change of a file, which it does not read.
func hashChangeTime(w io.Writer, _ string, info fs.FileInfo) error {
	_, err := fmt.Fprintf(w, "%d\n", store.Changed(info))
	return err
}

// hashContent hashes the content of a file.
func hashContent(w io.Writer, path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
