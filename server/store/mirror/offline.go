package mirror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"triton/server/store/remote"
)

// noteName names the listing of the path in the cache.
func (m *Mirror) noteName() string { return fmt.Sprintf("listing %q", m.source) }

// keepListing stores what was listed for a later start without the store, if it is new.
func (m *Mirror) keepListing(objects []remote.Object) {
	if !m.opts.Offline {
		return
	}
	text, err := json.Marshal(objects)
	if err == nil && !bytes.Equal(text, m.noted) {
		if err = m.opts.Cache.KeepNote(m.noteName(), text); err == nil {
			m.noted = text
		}
	}
	if err != nil {
		m.opts.Log.Warn(fmt.Sprintf("%s: the listing is not kept for starts without the store: %s", m.source, err))
	}
}

// startOffline replaces the first listing, which failed, by that of an earlier process. It reports false if
// there is none, or if the store has answered: what it refuses is not served from a copy. The caller holds
// m.mu.
func (m *Mirror) startOffline(cause error) bool {
	if !m.opts.Offline || m.last != nil || m.life.Err() != nil {
		return false
	}
	for _, refused := range []error{remote.ErrDenied, remote.ErrNotFound, remote.ErrRefused} {
		if errors.Is(cause, refused) {
			return false
		}
	}
	text, at, err := m.opts.Cache.Note(m.noteName())
	if err != nil {
		return false
	}
	var objects []remote.Object
	if err := json.Unmarshal(text, &objects); err != nil {
		m.opts.Log.Warn(fmt.Sprintf("%s: the kept listing cannot be read: %s", m.source, err))
		return false
	}
	m.last, m.offline = newListing(objects), true
	m.opts.Log.Warn(fmt.Sprintf("%s; its models are those of %s, as far as the cache has their files (--store-offline=cached)",
		cause, at.UTC().Format(time.RFC3339)))
	return true
}
