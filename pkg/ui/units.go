package ui

import (
	"math"
	"strconv"
	"time"
)

// Duration formats a measured time for people: three digits and the unit us, ms or s; from
// 100 s on in minutes and seconds.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0 us"
	case d < 999500*time.Nanosecond:
		return digits(float64(d)/1e3, 3) + " us"
	case d < 999500*time.Microsecond:
		return digits(float64(d)/1e6, 3) + " ms"
	case d < 99950*time.Millisecond:
		return digits(float64(d)/1e9, 3) + " s"
	}
	return Clock(d)
}

// Clock formats a time to wait, in whole seconds: 42s, 2m10s, 1h5m.
func Clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return strconv.FormatInt(s, 10) + "s"
	case s < 3600:
		return strconv.FormatInt(s/60, 10) + "m" + strconv.FormatInt(s%60, 10) + "s"
	}
	return strconv.FormatInt(s/3600, 10) + "h" + strconv.FormatInt(s%3600/60, 10) + "m"
}

// Number formats a rate for people: at least four digits, and at most two decimals.
func Number(v float64) string { return strconv.FormatFloat(v, 'f', min(decimals(v, 4), 2), 64) }

// Bytes formats a number of bytes for people, with three digits and a binary unit.
func Bytes(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; i < len(units)-1 && math.Abs(n) >= 999.5; i++ {
		n /= 1024
	}
	if i == 0 {
		return strconv.FormatFloat(n, 'f', 0, 64) + " B"
	}
	return digits(n, 3) + " " + units[i]
}

// digits formats v with n significant digits; whole digits are never rounded.
func digits(v float64, n int) string { return strconv.FormatFloat(v, 'f', decimals(v, n), 64) }

// decimals returns the number of decimals for n significant digits after rounding.
func decimals(v float64, n int) int {
	if v = math.Abs(v); v < 1 || math.IsNaN(v) || math.IsInf(v, 0) {
		return n - 1
	}
	d := n - 1 - int(math.Floor(math.Log10(v)))
	if d > 0 && v >= math.Pow10(n-d)-0.5*math.Pow10(-d) { // it rounds up to one more digit
		d--
	}
	return max(d, 0)
}
