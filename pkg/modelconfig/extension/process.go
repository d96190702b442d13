package extension

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/pkg/modelconfig"
)

// Process describes the processes of a Python model.
type Process struct {
	// Requirements is a file for pip, relative to the model's folder; empty: nothing is
	// installed.
	Requirements string
	Memory       int64 // limit in bytes; 0: none
	CPUs         []int // in rising order; nil: those of the server
	Threads      int   // of numeric libraries; 0: their default
	Nice         int   // added to the server's nice value
	// Execute is the longest time that a call of execute may take; 0: no limit.
	Execute time.Duration
}

// Bounds of the parameters.
const (
	minMemory  = 64 << 20 // an interpreter with numpy needs that much
	maxCPU     = 1023     // the kernel's default limit is 1024 processors
	maxThreads = 1024
	maxNice    = 19
	maxExecute = 24 * time.Hour
)

// process reads the parameters about processes; nil: none is set.
func (r *reader) process() *Process {
	keys := []string{keyRequirements, keyMemory, keyCPUs, keyThreads, keyNice, keyExecute}
	i := slices.IndexFunc(keys, func(key string) bool { return r.Parameters[key] != nil })
	if i < 0 {
		return nil
	}
	if r.GetBackend() == "onnxruntime" || r.GetPlatform() == "ensemble" {
		r.add(keys[i], "remove it", "only Python models have processes of their own")
		return nil
	}
	return &Process{
		Requirements: r.requirements(),
		Memory:       r.number(keyMemory, minMemory, 1<<50),
		CPUs:         r.processors(keyCPUs),
		Threads:      int(r.number(keyThreads, 1, maxThreads)),
		Nice:         int(r.number(keyNice, 0, maxNice)),
		Execute:      time.Duration(r.number(keyExecute, 1, maxExecute.Milliseconds())) * time.Millisecond,
	}
}

func (r *reader) requirements() string {
	text, ok := r.text(keyRequirements)
	if ok && !modelconfig.LocalName(text) {
		r.add(keyRequirements, `write "requirements.txt" and put the file beside config.pbtxt`, "'%s' is not the path of a file in the model's folder", text)
	}
	return text
}

// number returns a parameter that is an integer; 0 if it is not set.
func (r *reader) number(key string, least, most int64) int64 {
	text, ok := r.text(key)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		r.add(key, "", "'%s' is not a number from %d to %d", text, least, most)
		return 0
	}
	return n
}

// processors returns a list of processors such as "0-3,8".
func (r *reader) processors(key string) []int {
	text, ok := r.text(key)
	if !ok {
		return nil
	}
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.ParseUint(first, 10, 16)
		b := a
		if err == nil && ranged {
			b, err = strconv.ParseUint(last, 10, 16)
		}
		if err != nil || b < a || b > maxCPU {
			r.add(key, "", "'%s' is not a list of processors such as 0-3,8, from 0 to %d", text, maxCPU)
			return nil
		}
		for n := a; n <= b; n++ {
			list = append(list, int(n))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
