// Objects are downloaded in parallel ranges. That survives connections that break, stall or lie about
// lengths: each range continues where it stopped, after a pause that grows with the failures.

package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"triton/server/store/remote"
)

// DownloadOptions configure a Downloader. The zero value of a field is its default.
type DownloadOptions struct {
	// PartSize is the length of a range (16 MiB). Streams bounds the ranges that are read at the
	// same time, of all objects together (16).
	PartSize int64
	Streams  int
	// Silence is the time without a byte after which a range is read on another connection (30 s).
	Silence time.Duration
	// Attempts is how often a range may fail one after the other without progress (6).
	Attempts int
	// FirstPause and MaxPause bound the pause after a failure (200 ms, 10 s); each has a random part.
	FirstPause, MaxPause time.Duration
	// Retried is called after each failure that is not the last one; nil: nothing is.
	Retried func(object string, err error)
}

// Downloader reads objects.
type Downloader struct {
	opts    DownloadOptions
	streams chan struct{}
}

// progress is the number of bytes after which a broken connection does not count as a failure.
const progress = 64 << 10

// NewDownloader returns a downloader.
func NewDownloader(o DownloadOptions) *Downloader {
	setDefault(&o.PartSize, 16<<20)
	setDefault(&o.Streams, 16)
	setDefault(&o.Silence, 30*time.Second)
	setDefault(&o.Attempts, 6)
	setDefault(&o.FirstPause, 200*time.Millisecond)
	setDefault(&o.MaxPause, 10*time.Second)
	if o.Retried == nil {
		o.Retried = func(string, error) {}
	}
	return &Downloader{o, make(chan struct{}, o.Streams)}
}

// Observed returns a downloader that shares the streams of d and tells retried about its failures.
func (d *Downloader) Observed(retried func(object string, err error)) *Downloader {
	other := *d
	other.opts.Retried = retried
	return &other
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Get writes the content of an object to w, each byte at its offset. It calls arrived with the
// number of new bytes, on several goroutines. After an error w has some of the bytes.
func (d *Downloader) Get(ctx context.Context, from remote.Source, o remote.Object, w io.WriterAt, arrived func(n int)) error {
	g, group := errgroup.WithContext(ctx)
	for offset := int64(0); offset < o.Size; offset += d.opts.PartSize {
		if err := d.acquire(group); err != nil {
			break // g has the error, or the caller's context
		}
		g.Go(func() error {
			defer func() { <-d.streams }()
			p := downloadPart{d, from, o, offset, min(d.opts.PartSize, o.Size-offset), w, arrived}
			return p.read(group)
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("%q: %w", o.Name, err)
	}
	return context.Cause(ctx)
}

func (d *Downloader) acquire(ctx context.Context) error {
	select {
	case d.streams <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Retry calls a request that reads no content, such as a listing, until it succeeds, fails for
// good, or has failed too often.
func (d *Downloader) Retry(ctx context.Context, what string, request func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := request(ctx)
		if err == nil || isFinal(err) || attempt >= d.opts.Attempts || ctx.Err() != nil {
			return err
		}
		d.opts.Retried(what, err)
		if err := d.pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// isFinal reports whether a request that failed with an error would fail again.
func isFinal(err error) bool {
	for _, e := range []error{remote.ErrNotFound, remote.ErrDenied, remote.ErrChanged, remote.ErrRefused, syscall.ENOSPC, errWrite} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// pause waits after the given number of failures.
func (d *Downloader) pause(ctx context.Context, failures int) error {
	wait := min(d.opts.FirstPause<<min(failures-1, 20), d.opts.MaxPause)
	wait = wait/2 + rand.N(wait/2+1)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
