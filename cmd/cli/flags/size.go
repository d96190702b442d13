package flags

import (
	"fmt"
	"strconv"
	"strings"
)

// Size reads a number of bytes with a unit: GiB, MiB, KiB or their first
// letters, GB, MB, kB. An empty text is 0.
func Size(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	number := strings.TrimRight(text, "KMGTkmgtiB ")
	unit := strings.TrimSpace(text[len(number):])
	factor, ok := map[string]float64{
		"": 1, "B": 1,
		"K": 1 << 10, "KiB": 1 << 10, "kB": 1e3, "KB": 1e3,
		"M": 1 << 20, "MiB": 1 << 20, "MB": 1e6,
		"G": 1 << 30, "GiB": 1 << 30, "GB": 1e9,
		"T": 1 << 40, "TiB": 1 << 40, "TB": 1e12,
	}[unit]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok || !(v*factor >= 1 && v*factor < 1<<62) {
		return 0, fmt.Errorf("%q is not a size such as 8GiB or 512MiB", text)
	}
	return uint64(v * factor), nil
}

// Headroom reads what to keep free: a share in percent, or a size. The default is 5 %,
// at least 256 MiB.
func Headroom(text string) (func(usable uint64) uint64, error) {
	if text == "" {
		return func(usable uint64) uint64 { return max(256<<20, usable/20) }, nil
	}
	if percent, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64); err == nil {
		if !(percent >= 0 && percent < 100) {
			return nil, fmt.Errorf("%q is not a share from 0 to below 100 percent", text)
		}
		return func(usable uint64) uint64 { return uint64(float64(usable) * percent / 100) }, nil
	}
	size, err := Size(text)
	return func(uint64) uint64 { return size }, err
}
