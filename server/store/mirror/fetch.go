package mirror

import (
	"context"
	"crypto/md5" //nolint:gosec // the stores' checksum; it finds damage
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"triton/pkg/status"
	"triton/server/store"
	"triton/server/store/remote"
)

// Bounds of a fetch.
const (
	fetchVersions = 4  // versions that are fetched at the same time: each file has two descriptors
	fetchFiles    = 16 // files of a model that are fetched at the same time
	fetchTries    = 3  // with a new listing, if objects change meanwhile
	damaged       = 3  // downloads of content with a wrong checksum
)

// Fetch returns a folder with the files of a model beside the version folders, and with one version.
func (m *Mirror) Fetch(ctx context.Context, name, version string) (*store.Folder, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.life, cancel)()
	if version != "" { // configurations do not wait for versions
		select {
		case m.loads <- struct{}{}:
			defer func() { <-m.loads }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	for try := 1; ; try++ {
		m.mu.Lock()
		l := m.last
		m.mu.Unlock()
		if l == nil || l.models[name] == nil {
			return nil, status.New(status.NotFound, "%s was removed", m.Location(name))
		}
		f := l.models[name]
		if f.err != nil {
			return nil, status.New(status.InvalidArg, "%s: %w", m.source, f.err)
		}
		dir, err := m.fetch(ctx, name, version, f)
		stale := errors.Is(err, remote.ErrChanged) || errors.Is(err, remote.ErrNotFound)
		if err == nil || !stale || try >= fetchTries {
			return dir, err
		}
		if _, err := m.refresh(ctx); err != nil {
			return nil, err
		}
	}
}

// fetch makes a folder of the files of one listing.
func (m *Mirror) fetch(ctx context.Context, name, version string, f *folder) (*store.Folder, error) {
	var files []remote.Object
	for _, o := range f.files {
		if rel := below(o, name); wanted(rel, version) {
			files = append(files, o)
		}
	}
	var empty []string
	for _, e := range f.empty {
		if wanted(e+"/", version) {
			empty = append(empty, e)
		}
	}
	a, done := m.begin(name, files)
	defer done()
	blobs := make([]*Blob, len(files))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(fetchFiles)
	for i, o := range files {
		g.Go(func() (err error) {
			blobs[i], err = m.get(gctx, o, a)
			return err
		})
	}
	err := g.Wait()
	held := map[string]*Blob{}
	for i, b := range blobs {
		if b != nil {
			held[below(files[i], name)] = b
		}
	}
	if err != nil {
		for _, b := range held {
			b.Release()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		m.stats.failures.Add(1)
		return nil, m.explain("downloading from", classify(err))
	}
	dir, free, err := m.opts.Cache.Folder(held, empty)
	if err != nil {
		return nil, err
	}
	return store.NewFixedFolder(dir, free), nil
}

// wanted reports whether a file is fetched with a version.
func wanted(rel, version string) bool {
	top, _, nested := strings.Cut(rel, "/")
	return !nested || top == version || !store.IsVersion(top)
}

// get returns the content of an object from the cache, which downloads it if it does not have it.
func (m *Mirror) get(ctx context.Context, o remote.Object, a *activity) (*Blob, error) {
	w := want(m.source, o)
	hit := true
	fill := func(ctx context.Context, f *os.File) error {
		hit = false
		begin := time.Now()
		defer func() { m.stats.nanoseconds.Add(int64(time.Since(begin))) }()
		return m.download(ctx, o, f, func(n int) {
			m.stats.bytes.Add(int64(n))
			a.arrived(int64(n))
		})
	}
	b, err := m.opts.Cache.Get(ctx, w, fill)
	for try := 1; o.Digest != "" && errors.Is(err, remote.ErrContent) && try < damaged; try++ {
		m.stats.retries.Add(1)
		m.opts.Log.Warn(fmt.Sprintf("%s: %q: %s; it is downloaded again", m.source, o.Name, err))
		a.arrived(-o.Size)
		b, err = m.opts.Cache.Get(ctx, w, fill)
	}
	if hit {
		a.skip(o.Size)
	}
	return b, err
}

// want names the content of an object for the cache.
func want(from remote.Source, o remote.Object) Want {
	return Want{Key: fmt.Sprintf("%q %q %q %d", from, o.Name, o.Tag, o.Size), Size: o.Size, Digest: o.Digest}
}

// download writes an object to a file, again if it arrives damaged. Some stores give content that
// they encrypt an MD5 of another text: content that arrives twice the same is not damaged.
func (m *Mirror) download(ctx context.Context, o remote.Object, f *os.File, arrived func(n int)) error {
	before := ""
	for try := 1; ; try++ {
		err := m.opts.Download.Get(ctx, m.source, o, f, arrived)
		if err != nil || o.MD5 == "" {
			return err
		}
		sum, err := sumMD5(f, o.Size)
		if err != nil || sum == o.MD5 || sum == before {
			return err
		}
		before = sum
		err = fmt.Errorf("%q: %w: MD5 %s instead of %s", o.Name, remote.ErrContent, sum, o.MD5)
		if try >= damaged {
			return err
		}
		m.stats.retries.Add(1)
		m.opts.Log.Warn(fmt.Sprintf("%s: %s; it is downloaded again", m.source, err))
		arrived(-int(o.Size))
	}
}

func sumMD5(f io.ReaderAt, size int64) (string, error) {
	h := md5.New() //nolint:gosec // as above
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// classify marks the errors of connections.
func classify(err error) error {
	var op *net.OpError
	var dns *net.DNSError
	if errors.As(err, &op) || errors.As(err, &dns) {
		return fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return err
}
