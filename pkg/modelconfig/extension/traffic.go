package extension

import "triton/pkg/trafficrules"

// traffic reads the traffic rules. Whether the models and versions of their targets exist is not
// checked, because they may be loaded later.
func (r *reader) traffic() *trafficrules.Rules {
	defer r.unknown("traffic_rule")
	text, ok := r.text(keyTraffic)
	if !ok {
		return nil
	}
	rules, err := trafficrules.Read(r.Name, []byte(text))
	if err != nil {
		r.add(keyTraffic, "see the fields in docs/traffic.md", "%v", err)
		return nil
	}
	if rules.Shadow != nil && (r.Decoupled() || r.GetSequenceBatching() != nil) {
		r.add(keyTraffic, "remove shadow", "shadow: requests of decoupled models and of sequences are not copied")
	}
	return rules
}
