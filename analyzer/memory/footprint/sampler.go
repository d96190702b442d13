package footprint

import (
	"context"
	"maps"
	"sync"
	"time"
)

const (
	// settled is how much readings may differ when memory has settled.
	settled = 2 << 20
	steady  = 3 // readings in a row
	// Memory has not settled if it grows in the second half of a window by more than
	// growthBytes, or by more than growthShare and what is noise.
	growthBytes = 16 << 20
	growthShare = 0.01
	growthNoise = 4 << 20
)

// sampler reads a server's memory periodically.
type sampler struct {
	read  func() (Reading, error)
	every time.Duration
	stop  context.CancelFunc
	wg    sync.WaitGroup
	mu    struct {
		sync.Mutex
		peak   Reading
		window []Reading // since the last call of reset
		err    error     // of the last reading
	}
}

func newSampler(ctx context.Context, every time.Duration, read func() (Reading, error)) *sampler {
	ctx, stop := context.WithCancel(ctx)
	s := &sampler{read: read, every: every, stop: stop}
	s.mu.peak = Reading{}
	s.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.now()
			}
		}
	})
	return s
}

// now reads the memory.
func (s *sampler) now() Reading {
	r, err := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.err = err; err != nil {
		return nil
	}
	raise(s.mu.peak, r)
	s.mu.window = append(s.mu.window, r)
	return r
}

// raise sets each place to the larger value.
func raise(to, r Reading) {
	for place, bytes := range r {
		to[place] = max(to[place], bytes)
	}
}

// reset starts a window.
func (s *sampler) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.window = s.mu.window[:0]
}

// peak returns the most since the start.
func (s *sampler) peak() Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.mu.peak)
}

// growing returns the places whose memory grew from the first half of the window to the second.
func (s *sampler) growing() []Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	half := len(s.mu.window) / 2
	first, second := Reading{}, Reading{}
	for i, r := range s.mu.window {
		if i < half {
			raise(first, r)
		} else {
			raise(second, r)
		}
	}
	var places []Place
	for place, bytes := range second {
		grown := float64(bytes) - float64(first[place])
		if half > 0 && (grown > growthBytes || grown > max(growthNoise, growthShare*float64(first[place]))) {
			places = append(places, place)
		}
	}
	return places
}

// awaitSettled waits until readings in a row are the same, for a limited time, and returns the last.
func (s *sampler) awaitSettled(ctx context.Context, wait time.Duration) Reading {
	var last Reading
	equal := 0
	for end := time.Now().Add(wait); ; {
		r := s.now()
		if near(last, r) {
			equal++
		} else {
			equal = 1
		}
		last = r
		if equal >= steady || ctx.Err() != nil || !time.Now().Before(end) {
			return last
		}
		select {
		case <-ctx.Done():
		case <-time.After(s.every):
		}
	}
}

// near reports whether two readings are the same at all places.
func near(a, b Reading) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for place, bytes := range a {
		if max(bytes, b[place])-min(bytes, b[place]) > settled {
			return false
		}
	}
	return true
}

// close ends the readings and returns the error of the last one.
func (s *sampler) close() error {
	s.stop()
	s.wg.Wait()
	return s.mu.err
}
