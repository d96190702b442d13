package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"triton/server/store/remote"
)

// downloadPart is a range of an object.
type downloadPart struct {
	*Downloader
	from           remote.Source
	object         remote.Object
	offset, length int64
	to             io.WriterAt
	arrived        func(n int)
}

// Errors of a range.
var (
	// errSilence reports a connection without bytes.
	errSilence = errors.New("no bytes arrived in time")
	errTooLong = errors.New("the store sent more bytes than it was asked for")
	errWrite   = errors.New("writing the file")
)

// read reads the range. After a failure it continues with the next byte.
func (p *downloadPart) read(ctx context.Context) error {
	failures := 0
	for {
		n, err := p.readOnce(ctx)
		p.offset += n
		p.length -= n
		if err == nil && p.length == 0 {
			return nil
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if n >= progress {
			failures = 0
		}
		failures++
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isFinal(err):
			return err
		case failures >= p.opts.Attempts:
			return fmt.Errorf("%w (%d times)", err, failures)
		}
		p.opts.Retried(p.object.Name, err)
		if err := p.pause(ctx, failures); err != nil {
			return err
		}
	}
}

// readOnce reads what one connection gives.
func (p *downloadPart) readOnce(ctx context.Context) (n int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(p.opts.Silence, func() { cancel(errSilence) })
	defer silence.Stop()
	defer func() { // a cancelled read fails in the words of its protocol
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSilence) {
			err = fmt.Errorf("%w: %s", errSilence, p.opts.Silence)
		}
	}()
	body, err := p.from.Open(ctx, p.object.Name, p.object.Tag, p.offset, p.length)
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, func() { _ = body.Close() })() // ends a read that does not know ctx
	defer body.Close()
	buf := make([]byte, min(p.length+1, 256<<10)) // one more: see a body that is too long
	for {
		k, err := body.Read(buf)
		silence.Reset(p.opts.Silence)
		if n+int64(k) > p.length {
			p.arrived(int(-n)) // none of it can be trusted
			return 0, errTooLong
		}
		if k > 0 {
			if _, err := p.to.WriteAt(buf[:k], p.offset+n); err != nil {
				return n, fmt.Errorf("%w: %w", errWrite, err)
			}
			n += int64(k)
			p.arrived(k)
		}
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}
