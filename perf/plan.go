package perf

import "time"

// Setting is what a level measures: a batch size under a load, the first time or again.
type Setting struct {
	Batch  int
	Load   Load
	Repeat int // as in Level
}

// longestPlan bounds the levels of a plan.
const longestPlan = 10000

// Plan returns the settings that a run visits, in order, unless it ends early. In a mode with one level
// the load is given as 1, whatever the run visits. It is nil if the results decide, in a binary search
// and without an end, and for a very long sweep.
func (c *Config) Plan() []Setting {
	values := c.Range.levels()
	switch {
	case !c.Mode.sweeps():
		values = []float64{1} // the data or a file decides the rate
	case c.Search == Binary:
		return nil
	}
	first, last := 0, 0
	if c.Repeats > 1 {
		first, last = 1, c.Repeats
	}
	if each := len(values) * len(c.Batches); each > longestPlan || each*(last-first+1) > longestPlan {
		return nil
	}
	var plan []Setting
	for repeat := first; repeat <= last; repeat++ {
		for _, batch := range c.Batches {
			for _, v := range values {
				plan = append(plan, Setting{batch, Load{c.Mode, v}, repeat})
			}
		}
	}
	return plan
}

// Levels returns the number of levels, 0 if the run has no Plan.
func (c *Config) Levels() int { return len(c.Plan()) }

// levels returns the levels of a linear sweep; nil if it has no end or too many levels.
func (r Range) levels() []float64 {
	switch {
	case len(r.List) > 0:
		return r.List
	case r.End == 0:
		return nil
	}
	all := []float64{r.Start}
	for v := r.Start + r.Step; r.Step > 0 && v <= r.End; v += r.Step {
		if len(all) == longestPlan {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// pace is how long the finished levels took.
type pace struct {
	levels, windows int
	time            time.Duration
}

func (p *pace) add(d time.Duration, windows int) {
	p.levels++
	p.windows += windows
	p.time += d
}

// estimate sets LevelLeft and Left: levels take as long as the finished ones, and the current
// level as many windows. limit is the time limit of a level with goals.
func (p *Progress) estimate(finished pace, limit time.Duration) {
	p.LevelLeft = p.levelLeft(finished)
	if limit > 0 {
		p.LevelLeft = p.goalsLeft(limit)
	}
	if p.Levels < p.Level || p.LevelLeft == 0 {
		return
	}
	each := p.Elapsed + p.LevelLeft
	if finished.levels > 0 {
		each = finished.time / time.Duration(finished.levels)
	}
	p.Left = p.LevelLeft + time.Duration(p.Levels-p.Level)*each
}

func (p *Progress) levelLeft(finished pace) time.Duration {
	if p.Total > 0 {
		if p.Requests == 0 || p.Requests >= p.Total {
			return 0
		}
		return time.Duration(float64(p.Elapsed) * float64(p.Total-p.Requests) / float64(p.Requests))
	}
	window := p.Window
	switch { // windows by count
	case window > 0:
	case p.Trial > 1:
		window = (p.Elapsed - p.InWindow) / time.Duration(p.Trial-1)
	case finished.windows > 0:
		window = finished.time / time.Duration(finished.windows)
	default:
		return 0
	}
	windows := windowCount
	if finished.levels > 0 {
		windows = max(windows, (finished.windows+finished.levels-1)/finished.levels)
	}
	return time.Duration(max(0, windows-max(p.Trial, 1)))*window + max(0, window-p.InWindow)
}

// goalsLeft returns the time until the intervals are as narrow as the goals: their widths are
// about inversely proportional to the square root of the time.
func (p *Progress) goalsLeft(limit time.Duration) time.Duration {
	need := 0.0
	for _, w := range p.Widths {
		need = max(need, (w.Is/w.Width)*(w.Is/w.Width)) // +Inf if it is not known
	}
	if need <= 1 {
		return 0
	}
	return max(0, time.Duration(min(need*float64(p.Elapsed), float64(limit)))-p.Elapsed)
}
