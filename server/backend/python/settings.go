package python

import (
	"strconv"
	"time"

	"triton/pkg/status"
)

// settings are the --backend-config pairs.
type settings struct {
	executable string
	cache      string        // the folder of environments
	start      time.Duration // until the interpreter runs and has imported numpy
	stop       time.Duration // for finalize
}

func parseSettings(pairs map[string]string) (settings, error) {
	s := settings{executable: pairs["python-executable"], cache: pairs["environment-cache-directory"], start: 30 * time.Second, stop: 30 * time.Second}
	for _, c := range []struct {
		key string
		to  *time.Duration
	}{{"start-timeout-seconds", &s.start}, {"stub-timeout-seconds", &s.stop}} {
		text, ok := pairs[c.key]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return s, status.New(status.InvalidArg, "--backend-config python,%s=%s: not a number", c.key, text)
		}
		if n <= 0 {
			return s, status.New(status.InvalidArg, "%s can't be smaller than or equal to zero.", c.key)
		}
		*c.to = time.Duration(n) * time.Second
	}
	return s, nil
}
