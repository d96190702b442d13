package chaos

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Depot is a web server with an archive of models, which can be slow and gone. The archive is what the
// folder has at the moment.
type Depot struct {
	// URL is the repository path of the archive.
	URL string

	root   string
	server http.Server
	mu     sync.Mutex
	delay  time.Duration
	gone   bool
}

// OpenDepot serves the remote models that Prepare wrote to root.
func OpenDepot(root string) (*Depot, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Depot{URL: "http://" + l.Addr().String() + "/models.tar", root: filepath.Join(root, "remote")}
	d.server = http.Server{Handler: http.HandlerFunc(d.serve), ReadHeaderTimeout: time.Minute}
	go func() { _ = d.server.Serve(l) }()
	return d, nil
}

// Close ends the server.
func (d *Depot) Close() error { return d.server.Close() }

// behave makes the depot wait before each answer, or close each connection.
func (d *Depot) behave(delay time.Duration, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay, d.gone = delay, gone
}

func (d *Depot) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	delay, gone := d.delay, d.gone
	d.mu.Unlock()
	if gone {
		panic(http.ErrAbortHandler)
	}
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		return
	}
	if r.URL.Path != "/models.tar" {
		http.NotFound(w, r)
		return
	}
	content, err := archived(d.root)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(content))))
	http.ServeContent(w, r, "models.tar", time.Time{}, bytes.NewReader(content))
}

// archived returns a folder as an archive, the same one for the same content.
func archived(root string) ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = t.Write(content)
		return err
	})
	if err == nil {
		err = t.Close()
	}
	return out.Bytes(), err
}
