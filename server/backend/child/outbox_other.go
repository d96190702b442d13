//go:build !linux

package child

// try writes nothing.
func (*outbox) try([]byte) int { return 0 }
