//go:build !linux

package isolated

func residentBytes(int) uint64 { return 0 }
