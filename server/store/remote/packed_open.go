package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"triton/server/store/remote/unpack"
)

// Open reads a range of an object of the current version. It is called for files that the cache
// does not have: plain files, and those that it has removed since they were unpacked.
func (r *packedRepository) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	r.mu.Lock()
	x := r.current
	r.mu.Unlock()
	if x == nil {
		return nil, ErrChanged
	}
	i, known := x.byName[name]
	if !known || x.Files[i].Digest != tag {
		return nil, ErrChanged
	}
	file := x.Files[i]
	if part := x.Parts[file.Origin.Archive-1]; part.Kind == partPlain {
		return r.Parts.Open(ctx, part.Object.Name, part.Object.Tag, offset, length)
	}
	f, err := r.again(ctx, x, file)
	if err != nil {
		return nil, err
	}
	from, err := os.Open(f.Path)
	if err != nil {
		f.Free()
		return nil, err
	}
	return &cachedRange{io.NewSectionReader(from, offset, length), from, f.Free}, nil
}

// cachedRange is a range of a file of the cache.
type cachedRange struct {
	*io.SectionReader
	file *os.File
	free func()
}

func (s *cachedRange) Close() error {
	defer s.free()
	return s.file.Close()
}

// errFound ends the reading of parts.
var errFound = errors.New("found")

// again unpacks a file that the cache has removed.
func (r *packedRepository) again(ctx context.Context, x *packedIndex, file unpack.File) (*File, error) {
	f, err := r.Env.Make(ctx, packedKey(x.ID, originKey(file.Origin)), func(ctx context.Context, to io.Writer) error {
		tree, err := unpack.New(x.Within, r.Limits, func(_ context.Context, at unpack.Origin, from io.Reader) (unpack.Content, error) {
			if at != file.Origin {
				return unpack.Content{Origin: at}, nil
			}
			if _, err := io.Copy(to, from); err != nil {
				return unpack.Content{}, err
			}
			return unpack.Content{}, errFound
		})
		if err != nil {
			return err
		}
		switch err := r.read(ctx, tree, x.Parts[:file.Origin.Archive], nil); {
		case errors.Is(err, errFound):
			return nil
		case err == nil:
			return fmt.Errorf("%w: it has no %s any more", ErrRefused, file.Name)
		default:
			return err
		}
	})
	if err == nil && f.Digest != file.Digest {
		f.Free()
		return nil, fmt.Errorf("%w: %s has other content than before", ErrRefused, file.Name)
	}
	return f, err
}
