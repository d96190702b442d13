//go:build !linux

package store

import "log/slog"

// Watcher tells of nothing on this system: its notices need an open file for each file.
type Watcher struct{}

// NewWatcher returns a watcher.
func NewWatcher(*slog.Logger) *Watcher { return &Watcher{} }

// Changed receives nothing.
func (*Watcher) Changed() <-chan struct{} { return nil }

// Follow has no effect.
func (*Watcher) Follow([]string) {}

// Close has no effect.
func (*Watcher) Close() {}
