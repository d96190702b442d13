package chaos

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Resources counts what a server holds, by kind.
type Resources map[string]int

// slack is how many more there may be at the end: connections that close, and caches of the
// runtime.
var slack = Resources{"goroutines": 4, "descriptors": 2}

// cacheEntry is what the pool gives the response cache for an answer of onnx_cached. The cache
// keeps answers of former editions until it is full.
const cacheEntry = 256

// String lists the kinds in order.
func (r Resources) String() string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(r)) {
		all = append(all, fmt.Sprintf("%s %d", k, r[k]))
	}
	return strings.Join(all, ", ")
}

// resources reads what the server holds now. The pool of tensor memory is counted
// in bytes, without those of the response cache.
func (w *world) resources(ctx context.Context) (Resources, error) {
	r := Resources{}
	profile, err := get(ctx, "http://"+w.Profile+"/debug/pprof/goroutine?debug=1")
	if err != nil {
		return nil, err
	}
	n := 0
	if _, err := fmt.Sscanf(profile, "goroutine profile: total %d", &n); err != nil {
		return nil, fmt.Errorf("the profile of goroutines: %w", err)
	}
	r["goroutines"] = n
	metrics, err := get(ctx, "http://"+w.Metrics+"/metrics")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(metrics) {
		var used float64
		for kind, name := range map[string]string{"pool bytes": "nv_pinned_memory_pool_used_bytes", "python bytes": "triton_python_shared_memory_used_bytes", "cache entries": "nv_cache_num_entries"} {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				if _, err := fmt.Sscan(rest, &used); err != nil {
					return nil, fmt.Errorf("the metric %s: %w", name, err)
				}
				r[kind] = int(used)
			}
		}
	}
	r["pool bytes"] -= r["cache entries"] * cacheEntry
	delete(r, "cache entries")
	proc := fmt.Sprintf("/proc/%d", w.PID)
	open, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return nil, err
	}
	children := w.children()
	r["descriptors"], r["children"], r["temporary files"] = len(open), len(children), len(w.temporary())
	for _, pid := range append(children, fmt.Sprint(w.PID)) {
		maps, _ := os.ReadFile("/proc/" + pid + "/maps") // a child may have ended
		r["shared memory files"] += strings.Count(string(maps), "/dev/shm/")
	}
	return r, nil
}

// temporary returns the server's temporary files.
func (w *world) temporary() []string {
	var all []string
	_ = filepath.WalkDir(w.Temp, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() { // a folder may just have been removed
			all = append(all, path)
		}
		return nil
	})
	return all
}

// children returns the process IDs of the server's children.
func (w *world) children() []string {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", w.PID))
	var all []string
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // the thread may have ended
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// idle returns the most that the server holds during a second without requests.
func (w *world) idle(ctx context.Context) (Resources, error) {
	w.admin.close()
	var err error
	if w.admin, err = connect(w.Server); err != nil {
		return nil, err
	}
	most := Resources{}
	time.Sleep(time.Second)
	for range 10 {
		time.Sleep(100 * time.Millisecond)
		now, err := w.resources(ctx)
		if err != nil {
			return nil, err
		}
		for kind, n := range now {
			most[kind] = max(most[kind], n)
		}
	}
	return most, nil
}

// settle waits until the server holds no more than before, and returns what is too much.
func (w *world) settle(ctx context.Context, before Resources) (leaks []string, _, after Resources) {
	w.admin.close()
	for range 200 {
		var err error
		if after, err = w.resources(ctx); err != nil {
			return []string{err.Error()}, before, after
		}
		leaks = nil
		for kind, n := range after {
			if n > before[kind]+slack[kind] {
				leaks = append(leaks, fmt.Sprintf("%s: %d before, %d after", kind, before[kind], n))
			}
		}
		if len(leaks) == 0 {
			return nil, before, after
		}
		time.Sleep(100 * time.Millisecond)
	}
	leaks = append(leaks, "temporary files: "+strings.Join(w.temporary(), " "))
	if profile, err := get(ctx, "http://"+w.Profile+"/debug/pprof/goroutine?debug=1"); err == nil && after["goroutines"] > before["goroutines"]+slack["goroutines"] {
		leaks = append(leaks, profile)
	}
	return leaks, before, after
}
