package serve

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// Messages to the manager.
const (
	systemdReady    = "READY=1"
	systemdStopping = "STOPPING=1"
	systemdAlive    = "WATCHDOG=1"
)

// notifyTimeout bounds the wait for a manager whose queue of messages is full.
const notifyTimeout = time.Second

// systemdStatus is the message with a text that `systemctl status` prints.
func systemdStatus(text string) string { return "STATUS=" + strings.ReplaceAll(text, "\n", " ") }

// Notify sends messages together. Without a manager that wants them it does nothing.
func (u *systemdUnit) Notify(messages ...string) error {
	if u.notify == "" {
		return nil
	}
	c, err := net.Dial("unixgram", u.notify) // "@" is the name of an abstract socket
	if err != nil {
		return fmt.Errorf("telling systemd %q: %w", messages[0], err)
	}
	defer c.Close()
	_ = c.SetWriteDeadline(time.Now().Add(notifyTimeout))
	if _, err := c.Write([]byte(strings.Join(messages, "\n"))); err != nil {
		return fmt.Errorf("telling systemd %q: %w", messages[0], err)
	}
	return nil
}

// Watch tells the manager that the process is alive, twice in each interval of its watchdog,
// until ctx ends. A check that is false or blocks sends nothing, and the manager restarts the
// service.
func (u *systemdUnit) Watch(ctx context.Context, check func() bool) {
	if u.watchdog == 0 || u.notify == "" {
		return
	}
	every := time.NewTicker(u.watchdog / 2)
	defer every.Stop()
	for {
		if check() {
			_ = u.Notify(systemdAlive) // the next one may arrive
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}
