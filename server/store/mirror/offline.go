package mirror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"triton/server/store/remote"
)

// noteName names the listing of the path in the cache.
func (m *Mirror) noteName() string { return fmt.Sprintf("listing %q", m.source) }

// keepListing stores what was listed for a later start without the store, if it is new. It does so without
// Offline too: the flag is given when the store is gone.
func (m *Mirror) keepListing(objects []remote.Object) {
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

// offlineHint names the flag with which a start without the store would succeed; empty: there is no kept
// listing, or the flag is given.
func (m *Mirror) offlineHint(cause error) string {
	if m.opts.Offline || m.last != nil || answered(cause) {
		return ""
	}
	_, at, err := m.opts.Cache.Note(m.noteName())
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; with --store-offline=cached the server starts with the listing of %s and the cached files", at.UTC().Format(time.RFC3339))
}

// answered reports whether a listing failed by an answer of the store.
func answered(cause error) bool {
	return slices.ContainsFunc([]error{remote.ErrDenied, remote.ErrNotFound, remote.ErrRefused}, func(e error) bool { return errors.Is(cause, e) })
}

// startOffline replaces the first listing, which failed, by that of an earlier process. It reports false if
// there is none, or if the store has answered: what it refuses is not served from a copy. The caller holds
// m.mu.
func (m *Mirror) startOffline(cause error) bool {
	if !m.opts.Offline || m.last != nil || m.life.Err() != nil {
		return false
	}
	if answered(cause) {
		return false
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
