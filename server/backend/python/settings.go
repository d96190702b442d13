package python

import (
	"math"
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
	// credentials reports that models get the credentials of the model stores.
	credentials bool
}

// maxSeconds is the longest time that a Duration can hold.
const maxSeconds = int(math.MaxInt64 / time.Second)

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
		*c.to = time.Duration(min(n, maxSeconds)) * time.Second
	}
	if text, ok := pairs["store-credentials"]; ok {
		var err error
		if s.credentials, err = strconv.ParseBool(text); err != nil {
			return s, status.New(status.InvalidArg, "--backend-config python,store-credentials=%s: not true or false", text)
		}
	}
	return s, checkUnused(pairs)
}

// checkUnused checks NVIDIA's settings that have no effect here: memory grows and shrinks
// by itself, and no call waits for a thread.
func checkUnused(pairs map[string]string) error {
	for _, c := range []struct {
		key  string
		min  int
		text string
	}{
		{"shm-default-byte-size", 1 << 20, "shm-default-byte-size can't be smaller than 4 MiBs"},
		{"shm-growth-byte-size", 1, "shm-growth-byte-size can't be smaller than or equal to zero."},
		{"thread-pool-size", 1, "thread-pool-size can't be less than 1."},
	} {
		text, ok := pairs[c.key]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return status.New(status.InvalidArg, "--backend-config python,%s=%s: not a number", c.key, text)
		}
		if n < c.min {
			return status.New(status.InvalidArg, "%s", c.text)
		}
	}
	if name, ok := pairs["shm-region-prefix-name"]; ok && name == "" {
		return status.New(status.InvalidArg, "shm-region-prefix-name must at least contain one character.")
	}
	return nil
}
