package doctor

import "fmt"

// State is how serious a finding is.
type State string

// The states. Note is what is neither good nor bad, such as a machine without GPUs.
const (
	OK      State = "ok"
	Note    State = "note"
	Warning State = "warning"
	Failure State = "failure"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"state"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

// about returns a finding whose text is a format.
func about(check string, state State, format string, args ...any) Finding {
	return Finding{Check: check, State: state, Found: fmt.Sprintf(format, args...)}
}

// do returns the finding with what to do about it.
func (f Finding) do(format string, args ...any) Finding {
	f.Advice = fmt.Sprintf(format, args...)
	return f
}
