package serve

import (
	"strconv"
	"strings"
)

// setting is "<name>,<key>=<value>" of a flag.
type setting struct{ name, key, value string }

// cutSetting splits a setting like Triton: at the first comma, then at the first = after
// it. A setting without a comma has no name.
func cutSetting(arg string) (set setting, named, ok bool) {
	name, rest, named := strings.Cut(arg, ",")
	if !named {
		name, rest = "", arg
	}
	key, value, ok := strings.Cut(rest, "=")
	return setting{name, key, value}, named, ok && key != "" && value != ""
}

// backendSetting reads "<backend>,<key>=<value>" or "<key>=<value>".
func backendSetting(arg string) (setting, error) {
	set, named, ok := cutSetting(arg)
	switch {
	case named && set.name == "":
		return set, tritonErrorf("No backend specified. --backend-config option format is <backend name>,<setting>=<value> or <setting>=<value>. Got %s", arg)
	case !ok:
		return set, tritonErrorf("--backend-config option format is '<backend name>,<setting>=<value>'. Got %s", arg)
	}
	return set, nil
}

// cacheSetting reads "<cache>,<key>=<value>".
func cacheSetting(arg string) (setting, error) {
	set, _, ok := cutSetting(arg)
	switch {
	case set.name == "":
		return set, tritonErrorf("No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got %s", arg)
	case !ok:
		return set, tritonErrorf("--cache-config option format is '<cache name>,<setting>=<value>'. Got %s", arg)
	}
	return set, nil
}

// metricsSetting reads "<setting>=<value>".
func metricsSetting(arg string) (setting, error) {
	key, value, ok := strings.Cut(arg, "=")
	if !ok || key == "" || value == "" || strings.Contains(key, ",") {
		return setting{}, tritonErrorf("--metrics-config option format is <setting>=<value>. Got %s", arg)
	}
	return setting{key: key, value: value}, nil
}

// hostPolicy reads "<policy>,<key>=<value>".
func hostPolicy(arg string) (setting, error) {
	set, _, ok := cutSetting(arg)
	if !ok || set.name == "" {
		return set, tritonErrorf("--host-policy option format is '<policy name>,<setting>=<value>'. Got %s", arg)
	}
	return set, nil
}

// pair reads "<first><delimiter><second>".
func pair[A, B any](arg, delimiter string, first func(string) (A, error), second func(string) (B, error)) (a A, b B, err error) {
	left, right, ok := strings.Cut(arg, delimiter)
	if !ok {
		return a, b, tritonErrorf("Cannot parse pair option due to incorrect number of inputs."+
			"--<pair option> argument requires format <first>%s<second>. Found: %s", delimiter, arg)
	}
	if a, err = first(left); err == nil {
		b, err = second(right)
	}
	return a, b, err
}

// parseInt reads an integer of 32 bits.
func parseInt(s string) (int64, error) {
	var n int64
	err := int32Value(&n).Set(s)
	return n, err
}

func parseUint(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, numberError(s, err)
}

func parseFloat(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	return n, numberError(s, err)
}
