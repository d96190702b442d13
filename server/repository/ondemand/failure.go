package ondemand

import (
	"cmp"
	"context"
	"strings"
	"time"

	"triton/pkg/status"
)

// failure is a load that failed. It is tried again after a delay that doubles, or when the files
// of the model have changed.
type failure struct {
	content string
	cause   error
	delay   time.Duration
	retry   time.Time
	checked time.Time // when the files were compared last
}

func (f *failure) error(now time.Time) error {
	return &status.Error{
		Code: status.Unavailable, Cause: f.cause,
		Msg: strings.TrimRight(status.From(f.cause).Msg, "\n;") + " (the next attempt is in " + max(f.retry.Sub(now), 0).Round(100*time.Millisecond).String() + ", or when the files have changed)",
	}
}

// failedBefore returns the error of the last load if it is not yet to be tried again.
func (m *Manager) failedBefore(name string, t Target) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.failed[name]
	if was == nil {
		return nil
	}
	now := time.Now()
	if was.content != t.Content {
		delete(m.failed, name)
		return nil
	}
	was.checked = now
	if now.Before(was.retry) {
		return was.error(now)
	}
	return nil
}

// loaded records the end of a load, and returns the error for the requests.
func (m *Manager) loaded(name string, t Target, err error) error {
	all := m.opts.Models.Loaded()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if err != nil {
		if m.life.Err() != nil {
			return &status.Error{Code: status.Unavailable, Msg: "Server exiting", Cause: context.Cause(m.life)}
		}
		was := m.failed[name]
		if was == nil {
			was = &failure{delay: cmp.Or(m.opts.RetryDelay, retryDelay) / 2}
			m.failed[name] = was
		}
		was.content, was.cause, was.checked = t.Content, err, now
		was.delay = min(2*was.delay, maxRetryDelay)
		was.retry = now.Add(was.delay)
		m.counts.Failed++
		return was.error(now)
	}
	delete(m.failed, name)
	for _, member := range t.Members {
		if !member.Loaded {
			m.recent.load(now, member.Name)
			m.counts.Loads++
			delete(m.reasons, member.Name)
		}
	}
	m.tellThrash(now)
	for i := range all {
		l := &all[i]
		for _, member := range t.Members {
			if member.Name == l.Name && !member.Loaded {
				m.usage[l.Name] = &usage{uses: l.Uses, at: now}
				m.book.Loaded(l.Name, l.Bytes, l.LoadTime, l.Priority)
			}
		}
	}
	return nil
}

// Failure returns why a model cannot be loaded: its last load failed and is not tried again yet. nil: a
// request would load it.
func (m *Manager) Failure(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was := m.failed[name]; was != nil && time.Now().Before(was.retry) {
		return was.cause
	}
	return nil
}
