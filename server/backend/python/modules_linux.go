package python

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockModules locks a directory of this user until the file is closed, at the latest when
// this process ends. It returns nil when another process has locked or removed it.
func lockModules(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var at unix.Stat_t
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = unix.Fstat(int(f.Fd()), &at)
	}
	if err == nil && at.Nlink > 0 && int(at.Uid) == os.Getuid() {
		return f, nil
	}
	_ = f.Close()
	if err == unix.EWOULDBLOCK { //nolint:errorlint // Flock returns it as it is
		err = nil
	}
	return nil, err
}
