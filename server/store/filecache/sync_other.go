//go:build !unix

package filecache

// syncDir does nothing: the system has no such call.
func syncDir(string) error { return nil }
