package result

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Side is one side of a comparison: the result files of one server.
type Side struct {
	Name string
	Runs []Run // at least one
}

// ReadSide reads a side: a result file, names separated by commas, or a folder with result files (*.json), which
// are read in the order of their creation.
func ReadSide(text string) (Side, error) {
	s := Side{Name: text}
	names := []string{text}
	info, err := os.Stat(text)
	switch {
	case err == nil && info.IsDir():
		if names, err = filepath.Glob(filepath.Join(text, "*.json")); err != nil {
			return s, err
		}
		if len(names) == 0 {
			return s, fmt.Errorf("%s: the folder has no result files (*.json)", text)
		}
	case err != nil:
		names = strings.Split(text, ",")
	}
	for i, name := range names {
		if slices.ContainsFunc(names[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }) {
			return s, fmt.Errorf("%s is given twice: a run counts once", name)
		}
	}
	if s.Runs, err = ReadRuns(names); err != nil {
		return s, err
	}
	slices.SortStableFunc(s.Runs, func(a, b Run) int { return a.File.Created.Compare(b.File.Created) })
	s.Name = filepath.Base(text)
	if len(names) > 1 && (info == nil || !info.IsDir()) {
		s.Name = fmt.Sprintf("%s and %d more", s.Runs[0].Name, len(names)-1)
	}
	return s, nil
}

// group has the runs of a side at one batch size and load.
type group struct {
	batch  int
	load   float64
	levels []*Level
	paces  []float64 // around each level, see paceAround
	files  int       // that have levels of it
	file   *File     // the last of them
}

// groupLevels returns the groups of a side in the order measured. Of levels without a number of the repeat
// the last one of a file counts, as in a search, and so does the last one with the same number.
func groupLevels(s Side) []*group {
	var all []*group
	for _, r := range s.Runs {
		own := len(r.File.Levels)
		for i := range own {
			l := &r.File.Levels[i]
			if slices.ContainsFunc(r.File.Levels[i+1:], func(later Level) bool {
				return later.Load == l.Load && later.BatchSize == l.BatchSize && later.Repeat == l.Repeat
			}) {
				continue
			}
			as := &group{batch: l.BatchSize, load: l.Load}
			g := findGroup(all, as)
			if g == nil {
				g = as
				all = append(all, g)
			}
			if g.file != r.File {
				g.file = r.File
				g.files++
			}
			g.levels, g.paces = append(g.levels, l), append(g.paces, paceAround(r.File.Levels, i))
		}
	}
	return all
}

// findGroup returns the group of the same batch size and load, nil if there is none. A batch size of
// 0 is not known and equals all.
func findGroup(groups []*group, as *group) *group {
	for _, g := range groups {
		if g.load == as.load && (g.batch == as.batch || g.batch == 0 || as.batch == 0) {
			return g
		}
	}
	return nil
}

// paired reports whether the repeats of both sides were measured in turn with each other.
func paired(a, b Side) bool {
	if len(a.Runs) != 1 || len(b.Runs) != 1 {
		return false
	}
	live := a.Runs[0].File.Settings.Live
	return live != "" && live == b.Runs[0].File.Settings.Live
}

// pairLevels returns the repeats that both groups have, in the order of a.
func pairLevels(a, b *group) (first, second []*Level) {
	for _, la := range a.levels {
		i := slices.IndexFunc(b.levels, func(lb *Level) bool { return lb.Repeat == la.Repeat })
		if i >= 0 && la.Requests > 0 && b.levels[i].Requests > 0 {
			first, second = append(first, la), append(second, b.levels[i])
		}
	}
	return first, second
}

// flawOf says why the levels of two groups allow no verdict; empty if they do.
func flawOf(a, b *group) string {
	fa, fb := a.flaw(), b.flaw()
	switch {
	case fa == fb && fa != "":
		return "both " + fa
	case fa != "":
		return "A " + fa
	case fb != "":
		return "B " + fb
	}
	return ""
}

// otherwise is how much more of the processors other programs may use during one side than during the other.
const otherwise = 10 // percent

// othersDiffer says by how much other programs used the machine during one side only; empty if they did not.
func othersDiffer(a, b *group) string {
	oa, ob := a.others(), b.others()
	if math.IsNaN(oa) || math.IsNaN(ob) || math.Abs(oa-ob) <= otherwise {
		return ""
	}
	return fmt.Sprintf("other programs used %.0f %% of the processors during A, %.0f %% during B", oa, ob)
}

// others returns the mean share of the processors that other programs used; not a number if it is not known.
func (g *group) others() float64 {
	sum, n := 0.0, 0.0
	for _, l := range g.levels {
		if o := l.Client.OthersPercent; o != nil {
			sum += *o
			n++
		}
	}
	return sum / n
}

// flaw says why the runs of a group are no sound measurement. A wide interval within one of several runs is none:
// the runs say how much they differ.
func (g *group) flaw() string {
	if len(g.levels) == 1 {
		return g.levels[0].flaw(true)
	}
	flaws := 0
	text := ""
	for _, l := range g.levels {
		if f := l.flaw(false); f != "" {
			flaws++
			text = f
		}
	}
	if 2*flaws <= len(g.levels) {
		return ""
	}
	return fmt.Sprintf("%s (%d of %d runs)", text, flaws, len(g.levels))
}

// flaw says why a level is no sound measurement; alone if there is no other run.
func (l *Level) flaw(alone bool) string {
	switch {
	case l.ClientLimit != "":
		return "limited by the client"
	case l.Late != "":
		return "sent requests late"
	case l.Interrupted:
		return "interrupted"
	case l.Grade == "F":
		return "has grade F"
	case alone && l.Problem == "not stable":
		return l.Problem
	case alone && (l.Grade == "D" || l.Grade == "E"):
		return "has grade " + l.Grade
	}
	return ""
}

func commonMode(a, b Side) (Mode, error) {
	first := a.Runs[0]
	for _, r := range slices.Concat(a.Runs, b.Runs) {
		if r.File.Settings.Mode != first.File.Settings.Mode {
			return "", fmt.Errorf("%s has levels of %s and %s of %s", first.Name, first.File.Settings.Mode, r.Name, r.File.Settings.Mode)
		}
	}
	return first.File.Settings.Mode, nil
}

// settingsDiffer says which differences of the files forbid a comparison, and which are worth a note. The name
// of a host is neither: a machine is its processors.
func settingsDiffer(a, b Side, allow bool) (forbidden, notes []string) {
	for _, s := range []struct {
		what  string
		value func(*File) string
		minor bool
	}{
		{"model", func(f *File) string { return f.Settings.Model }, false},
		{"protocol", func(f *File) string { return f.Settings.Protocol }, false},
		{"processor", func(f *File) string { return f.Machine.CPU }, false},
		{"number of CPUs", func(f *File) string {
			if f.Machine.CPUs == 0 {
				return ""
			}
			return fmt.Sprint(f.Machine.CPUs)
		}, false},
		{"input data", func(f *File) string { return f.Settings.Input }, true},
		{"program", func(f *File) string { return f.Program.Name }, true},
	} {
		var values []string
		for _, r := range slices.Concat(a.Runs, b.Runs) {
			if v := s.value(r.File); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) < 2 {
			continue
		}
		text := fmt.Sprintf("the %s differs: %s", s.what, strings.Join(values, " and "))
		if s.minor || allow {
			notes = append(notes, text)
		} else {
			forbidden = append(forbidden, text)
		}
	}
	return forbidden, notes
}

// BaselineNotes says what makes a baseline doubtful: its age, and another version of the program. Without a
// maximum it may be of any age.
func BaselineNotes(baseline, other Side, now time.Time, maximum time.Duration) []string {
	var notes []string
	oldest := baseline.Runs[0].File
	if age := now.Sub(oldest.Created); maximum > 0 && !oldest.Created.IsZero() && age > maximum {
		notes = append(notes, fmt.Sprintf("the baseline is %d days old: measure it again, or raise --max-baseline-age", int(age.Hours()/24)))
	}
	was, is := oldest.Program, other.Runs[0].File.Program
	if was.Version != is.Version && was.Version != "" && is.Version != "" {
		notes = append(notes, fmt.Sprintf("the baseline was measured by version %s, the other side by %s", was.Version, is.Version))
	}
	return notes
}
