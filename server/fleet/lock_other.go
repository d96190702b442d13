//go:build !unix

package fleet

import "os"

// tryLock does nothing: there are no advisory locks. Only one server may write a state here.
func tryLock(*os.File) error { return nil }
