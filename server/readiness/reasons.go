package readiness

import (
	"fmt"
	"slices"
)

// Reasons returns why a server with these model versions is not ready; none if it is. The
// versions of a model follow each other.
func (p Policy) Reasons(all []Version) []string {
	switch p.Mode {
	case Triton:
		return tritonReasons(all)
	case Strict:
		return strictReasons(all)
	case Any:
		if !slices.ContainsFunc(all, func(v Version) bool { return v.Ready }) {
			return []string{"no model is ready"}
		}
	case Required:
		return p.requiredReasons(all)
	case Live:
	}
	return nil
}

func tritonReasons(all []Version) (reasons []string) {
	for _, v := range all {
		if !v.Ready && !v.Unloaded && !v.Refused {
			reasons = append(reasons, v.problem())
		}
	}
	return reasons
}

func strictReasons(all []Version) (reasons []string) {
	for versions := range models(all) {
		wanted := slices.ContainsFunc(versions, func(v Version) bool { return v.Desired })
		if wanted && !serves(versions) {
			reasons = append(reasons, problems(versions))
		}
	}
	return reasons
}

func (p Policy) requiredReasons(all []Version) (reasons []string) {
	for _, n := range p.Models {
		var found []Version
		for _, v := range all {
			if v.Name == n.Name && (n.Version == "" || v.Version == n.Version) {
				found = append(found, v)
			}
		}
		switch {
		case serves(found):
		case len(found) == 0:
			reasons = append(reasons, fmt.Sprintf("required model '%s' is not loaded", n))
		default:
			reasons = append(reasons, "required: "+problems(found))
		}
	}
	return reasons
}

// models yields the versions of each model.
func models(all []Version) func(yield func([]Version) bool) {
	return func(yield func([]Version) bool) {
		for begin := 0; begin < len(all); {
			end := begin + 1
			for end < len(all) && all[end].Name == all[begin].Name && all[end].Namespace == all[begin].Namespace {
				end++
			}
			if !yield(all[begin:end]) {
				return
			}
			begin = end
		}
	}
}

// serves reports whether a model serves: a version is ready, and no version has lost its
// instances.
func serves(versions []Version) bool {
	broken := func(v Version) bool { return v.State == "READY" && !v.Ready }
	return slices.ContainsFunc(versions, func(v Version) bool { return v.Ready }) && !slices.ContainsFunc(versions, broken)
}

// problems returns why a model does not serve: the problem of its first version that is not
// ready.
func problems(versions []Version) string {
	i := slices.IndexFunc(versions, func(v Version) bool { return !v.Ready && !v.Unloaded })
	return versions[max(i, 0)].problem()
}

// problem describes a version that is not ready.
func (v *Version) problem() string {
	text := fmt.Sprintf("model '%s'", v.Name)
	if v.Version != "" {
		text += " version " + v.Version
	}
	if v.State == "READY" {
		text += " does not work"
	} else {
		text += " is " + v.State
	}
	if v.Reason != "" {
		text += ": " + v.Reason
	}
	return text
}
