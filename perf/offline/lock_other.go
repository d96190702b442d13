//go:build !unix

package offline

import "os"

// lock does nothing: there are no advisory locks.
func lock(*os.File) error { return nil }
