package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/store"
)

// farPlace is a place whose check fails, and whose close waits.
type farPlace struct {
	store.Place
	check error
	close chan struct{}
}

func (p farPlace) Check(context.Context) error { return p.check }

func (p farPlace) Location(folder string) string { return "far://" + folder }

func (p farPlace) List(context.Context) ([]string, error) { return []string{"m"}, nil }

func (p farPlace) Close() error {
	<-p.close
	return nil
}

// TestRegisterTellsWhy: the error of a path on another machine has its reason, that of a folder is
// Triton's.
func TestRegisterTellsWhy(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	close(closed)
	p := store.NewPaths(nil, false, func(path string) (store.Place, error) {
		switch path {
		case "far://denied":
			return farPlace{check: status.New(status.Unavailable, "access denied"), close: closed}, nil
		case "far://broken":
			return nil, status.New(status.InvalidArg, "no cache")
		}
		return store.OpenDir(path)
	})
	require.EqualError(t, p.Register(t.Context(), "far://denied", nil), "failed to register 'far://denied', repository not found: access denied")
	require.EqualError(t, p.Register(t.Context(), "far://broken", nil), "failed to register 'far://broken', repository not found: no cache")
	require.EqualError(t, p.Register(t.Context(), "/none", nil), "failed to register '/none', repository not found")
}

// TestCloseHoldsNobodyUp: while a path that is unregistered ends its requests, the others are listed.
func TestCloseHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	p := store.NewPaths([]string{t.TempDir()}, false, func(path string) (store.Place, error) {
		if path == "far://slow" {
			return farPlace{close: wait}, nil
		}
		return store.OpenDir(path)
	})
	require.NoError(t, p.Register(t.Context(), "far://slow", nil))
	done := make(chan error, 1)
	go func() { done <- p.Unregister("far://slow") }()
	require.Eventually(t, func() bool {
		all, err := p.List(t.Context())
		return err == nil && len(all) == 0
	}, 30*time.Second, time.Millisecond)
	require.Empty(t, done, "it waits")
	close(wait)
	require.NoError(t, <-done)
	require.NoError(t, p.Close())
}
