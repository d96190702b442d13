package store

import (
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// Watcher watches folders by inotify. One goroutine calls Follow.
type Watcher struct {
	log     *slog.Logger
	system  *fsnotify.Watcher // nil: the system gave none
	changed chan struct{}
	done    chan struct{} // closed when the goroutine has ended
	warned  bool
}

// NewWatcher returns a watcher that follows no folder yet. If the system gives none, the watcher never
// tells of a change, and the log says so.
func NewWatcher(log *slog.Logger) *Watcher {
	w := &Watcher{log: log, changed: make(chan struct{}, 1), done: make(chan struct{})}
	system, err := fsnotify.NewWatcher()
	if err != nil {
		w.warn(err)
		close(w.done)
		return w
	}
	w.system = system
	go w.read()
	return w
}

// Changed receives a value after something was changed below the folders.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Follow watches the folders and all folders below them. Those that are new since the last call
// are watched from now on. What changes in a new folder before that is not told.
func (w *Watcher) Follow(roots []string) {
	if w.system == nil {
		return
	}
	for _, root := range roots {
		eachFolder(root, func(path string) bool {
			err := w.system.Add(path)
			if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
				w.warn(err)
				return false
			}
			return true // a folder that is gone, or may not be read: the listing tells
		})
	}
}

// warn logs, once, that changes are not told.
func (w *Watcher) warn(err error) {
	if w.warned {
		return
	}
	w.warned = true
	why := err.Error()
	switch {
	case errors.Is(err, syscall.ENOSPC):
		why = "the limit of watches is reached; raise the kernel setting fs.inotify.max_user_watches"
	case errors.Is(err, syscall.EMFILE):
		why = "the limit of watchers is reached; raise the kernel setting fs.inotify.max_user_instances"
	}
	w.log.Warn(fmt.Sprintf("not all folders of the model repositories can be watched; changes are found by the next poll: %s", why))
}

// read tells of changes until the watcher is closed. If the queue of the system overflows, changes
// are lost, so that counts as one.
func (w *Watcher) read() {
	defer close(w.done)
	events, errs := w.system.Events, w.system.Errors
	for {
		select {
		case _, open := <-events:
			if !open {
				return
			}
		case err, open := <-errs:
			if !open {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.log.Debug("watching the model repositories", "error", err)
			}
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// Close ends the watcher.
func (w *Watcher) Close() {
	if w.system != nil {
		_ = w.system.Close()
	}
	<-w.done
}
