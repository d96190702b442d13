package chaos

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"triton/pkg/trafficrules"
)

// weights shares the requests without a version among the versions of a model, changes the shares,
// and takes the rules away. No request may fail.
type weights struct{}

func (weights) applies(m Model, _ Control) bool { return len(m.Versions) > 2 }

func (weights) play(e *episode) error {
	versions := e.x.selects(keys(e.x.current))
	e.oracle.routes(e.x, versions, time.Now())
	for range 1 + e.rng.IntN(3) {
		if err := e.share(versions, func(int) float64 { return float64(1 + e.rng.IntN(100)) }); err != nil {
			return err
		}
		e.wait(500 * time.Millisecond)
	}
	only := versions[e.rng.IntN(len(versions))]
	err := e.share(versions, func(v int) float64 {
		if v == only {
			return 1
		}
		return 0
	})
	if err != nil {
		return err
	}
	if a := e.probe(0); a.err != nil || a.version != only {
		return fmt.Errorf("version %d answered (%w), and version %d has all requests", a.version, a.err, only)
	}
	if err := e.admin.http.DeleteTraffic(e.ctx, e.x.Name, 0); err != nil {
		return fmt.Errorf("deleting traffic rules: %w", err)
	}
	e.oracle.serves(e.x, time.Now())
	return nil
}

// share sets the weights of versions.
func (e *episode) share(versions []int, weight func(version int) float64) error {
	var rules trafficrules.Rules
	for _, v := range versions {
		rules.Weights = append(rules.Weights, trafficrules.Weight{Target: trafficrules.Target{Version: strconv.Itoa(v)}, Weight: weight(v)})
	}
	document, err := json.Marshal(&rules)
	if err != nil {
		return err
	}
	if _, err := e.admin.http.SetTraffic(e.ctx, e.x.Name, document, 0); err != nil {
		return fmt.Errorf("setting %s: %w", document, err)
	}
	return nil
}
