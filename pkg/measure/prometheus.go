package measure

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Metric is one line of the Prometheus text format.
type Metric struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// ReadMetrics reads the text format and hands each sample whose name keep
// accepts to yield. Other lines are not looked at, so an exposition of any kind
// passes as long as the wanted lines are sound.
func ReadMetrics(r io.Reader, keep func(name string) bool, yield func(Metric)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4096), 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		i := strings.IndexAny(line, "{ \t")
		if i <= 0 || line[0] == '#' || !keep(line[:i]) {
			continue
		}
		m, err := parseMetric(line, i)
		if err != nil {
			return fmt.Errorf("metrics line %d: %w", n, err)
		}
		yield(m)
	}
	return sc.Err()
}

func parseMetric(line string, nameEnd int) (Metric, error) {
	m := Metric{Name: line[:nameEnd]}
	rest := line[nameEnd:]
	if rest[0] == '{' {
		var err error
		if m.Labels, rest, err = parseLabels(rest[1:]); err != nil {
			return m, err
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || len(fields) > 2 {
		return m, fmt.Errorf("%s: a value is expected, and maybe a time", m.Name)
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return m, fmt.Errorf("%s: %q is not a number", m.Name, fields[0])
	}
	m.Value = v
	return m, nil
}

// parseLabels reads name="value" pairs up to the closing brace.
func parseLabels(s string) (map[string]string, string, error) {
	labels := map[string]string{}
	for {
		s = strings.TrimLeft(s, " \t,")
		if strings.HasPrefix(s, "}") {
			return labels, s[1:], nil
		}
		name, rest, ok := strings.Cut(s, "=")
		if !ok || !strings.HasPrefix(rest, `"`) {
			return nil, "", fmt.Errorf("labels are cut off")
		}
		value, rest, ok := labelValue(rest[1:])
		if !ok {
			return nil, "", fmt.Errorf("label %s is cut off", name)
		}
		labels[strings.TrimSpace(name)] = value
		s = rest
	}
}

func labelValue(s string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			if i == len(s) {
				return "", "", false
			}
			if s[i] == 'n' {
				b.WriteByte('\n')
				continue
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}
