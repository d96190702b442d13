package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// firstSocket is the first file descriptor that the manager passes.
const firstSocket = 3

// systemdUnit is what systemd, the service manager that started this process, gave to it: sockets, and where it wants to
// hear that the process is ready, stops, or is alive. Both protocols are environment variables and datagrams;
// sd_listen_fds(3) and sd_notify(3) describe them. Under another manager nothing happens.
type systemdUnit struct {
	notify   string        // address of the manager's socket; empty: it wants no messages
	watchdog time.Duration // 0: none
	sockets  map[string]net.Listener
}

// openSystemd reads the environment variables of the process pid and takes over the sockets. Each has
// one of the given names, which is FileDescriptorName= in its unit.
func openSystemd(getenv func(string) string, pid int, names ...string) (*systemdUnit, error) {
	return openSystemdFrom(getenv, pid, firstSocket, names)
}

func openSystemdFrom(getenv func(string) string, pid, first int, names []string) (*systemdUnit, error) {
	u := &systemdUnit{notify: getenv("NOTIFY_SOCKET"), sockets: map[string]net.Listener{}}
	if s := getenv("WATCHDOG_USEC"); s != "" && isMine(getenv("WATCHDOG_PID"), pid, true) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n <= 0 || n > int64(24*time.Hour/time.Microsecond)*365 {
			return nil, fmt.Errorf("environment variable WATCHDOG_USEC is %q, not a number of microseconds", s)
		}
		u.watchdog = time.Duration(n) * time.Microsecond
	}
	if !isMine(getenv("LISTEN_PID"), pid, false) {
		return u, nil
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > 1024 {
		return nil, fmt.Errorf("environment variable LISTEN_FDS is %q, not a number of sockets", getenv("LISTEN_FDS"))
	}
	given := strings.Split(getenv("LISTEN_FDNAMES"), ":")
	for i := range n {
		name := ""
		if i < len(given) {
			name = given[i]
		}
		if err := u.take(first+i, name, names); err != nil {
			return nil, errors.Join(err, u.Close())
		}
	}
	return u, nil
}

// isMine reports whether a variable names this process. Variables of a parent are inherited.
func isMine(value string, pid int, ifEmpty bool) bool {
	if value == "" {
		return ifEmpty
	}
	return value == strconv.Itoa(pid)
}

func (u *systemdUnit) take(fd int, name string, names []string) error {
	f := os.NewFile(uintptr(fd), name)
	if f == nil {
		return fmt.Errorf("socket %q of systemd: %d is no file descriptor", name, fd)
	}
	defer f.Close()
	if !slices.Contains(names, name) {
		return fmt.Errorf("systemd passed a socket with the name %q; set FileDescriptorName= of the socket unit to one of %s", name, strings.Join(names, ", "))
	}
	if u.sockets[name] != nil {
		return fmt.Errorf("systemd passed two sockets with the name %q: a socket unit of this name has more than one ListenStream=", name)
	}
	l, err := net.FileListener(f) // a copy that child processes do not inherit
	if err != nil {
		return fmt.Errorf("socket %q of systemd: %w", name, err)
	}
	u.sockets[name] = l
	return nil
}

// Listener gives the socket of a name to the caller; nil if the manager opened none.
func (u *systemdUnit) Listener(name string) net.Listener {
	l := u.sockets[name]
	delete(u.sockets, name)
	return l
}

// Close closes the sockets that nobody has asked for.
func (u *systemdUnit) Close() error {
	var all []error
	for name, l := range u.sockets {
		all = append(all, l.Close())
		delete(u.sockets, name)
	}
	return errors.Join(all...)
}
