package server

import (
	"bytes"
	"io/fs"
	"math"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// cpus returns how many processors this process may use: the processors of its affinity mask,
// or fewer where a control group limits the processor time. root is the file system.
func cpus(root fs.FS) int {
	n := runtime.NumCPU()
	if q := quota(root); q > 0 {
		n = min(n, int(math.Ceil(q)))
	}
	return max(n, 1)
}

// quota returns the processor time that the process's control groups allow, in
// processors; 0 if there is no limit. The lowest limit between the group and the root
// counts.
func quota(root fs.FS) float64 {
	least := 0.0
	controlGroups(root, "cpu", func(dir string, v2 bool) {
		q := 0.0
		if v2 {
			q = quotaV2(root, dir)
		} else {
			q = quotaV1(root, dir)
		}
		if q > 0 && (least == 0 || q < least) {
			least = q
		}
	})
	return least
}

// quotaV2 reads "max 100000" or "150000 100000".
func quotaV2(root fs.FS, dir string) float64 {
	b, err := fs.ReadFile(root, path.Join(dir, "cpu.max"))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) != 2 {
		return 0
	}
	return ratio(f[0], f[1])
}

func quotaV1(root fs.FS, dir string) float64 {
	q, err1 := fs.ReadFile(root, path.Join(dir, "cpu.cfs_quota_us"))
	p, err2 := fs.ReadFile(root, path.Join(dir, "cpu.cfs_period_us"))
	if err1 != nil || err2 != nil {
		return 0
	}
	return ratio(string(bytes.TrimSpace(q)), string(bytes.TrimSpace(p)))
}

// ratio returns quota/period; 0 if the quota is no number or negative, which means no limit.
func ratio(quota, period string) float64 {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 || math.IsInf(q/p, 0) {
		return 0
	}
	return q / p
}
