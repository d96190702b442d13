package state

import "triton/server/readiness"

// Conditions returns the conditions of all versions, and of models without versions, by model
// and number. With checks, instances that can check themselves do so, which may be slow.
func (s *Actual) Conditions(checks bool) []readiness.Version {
	all := []readiness.Version{}
	for _, m := range s.current.Load().order {
		of := readiness.Version{Name: m.ID.Name, Namespace: m.ID.Namespace, Desired: m.Desired}
		if len(m.Versions) == 0 {
			of.State, of.Reason = string(VersionUnavailable), "no version was found"
			all = append(all, of)
		}
		for i := range m.Versions {
			v := &m.Versions[i]
			c := of
			c.Version, c.State, c.Reason = v.text, string(v.State), v.reason()
			c.Unloaded = v.Reason == ReasonUnloaded
			if checks {
				c.Ready = v.passesChecks(s.opts.Log)
			} else {
				c.Ready = v.works()
			}
			all = append(all, c)
		}
	}
	return all
}
