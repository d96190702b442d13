package state

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/store"
)

var (
	settleID    = store.ID{Name: "m"}
	settleBegin = time.Unix(1_000_000, 0)
)

func clockAt(seconds float64) time.Time {
	return settleBegin.Add(time.Duration(seconds * float64(time.Second)))
}

// stampAt parses entries of the form name=seconds[:newest file][:partial file]; a name that ends in "/"
// is a folder, "/" the model's folder. Without seconds the store does not know the time.
func stampAt(text string) store.Stamp {
	if text == "" {
		return nil
	}
	s := store.Stamp{}
	for field := range strings.FieldsSeq(text) {
		name, rest, _ := strings.Cut(field, "=")
		parts := append(strings.Split(rest, ":"), "", "")
		e := store.Entry{Tag: rest, Dir: strings.HasSuffix(name, "/"), Newest: parts[1], Partial: parts[2]}
		var seconds float64
		if n, _ := fmt.Sscanf(parts[0], "%g", &seconds); n == 1 {
			e.ChangedAt = clockAt(seconds).UnixNano()
		}
		s[strings.TrimSuffix(name, "/")] = e
	}
	return s
}

func textOf(s store.Stamp) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		all = append(all, name+"="+s[name].Tag)
	}
	return strings.Join(all, " ")
}

// Each case is a series of polls; the settle time is 2 s.
func TestView(t *testing.T) {
	t.Parallel()
	type poll struct {
		at            float64
		found, loaded string
		want, wait    string // the visible entries and the text of the wait
	}
	for name, polls := range map[string][]poll{
		"old files stand still at once": {{10, "/=1 config.pbtxt=1 1/=3", "", "=1 1=3 config.pbtxt=1", ""}},
		"new files do not": {
			{10, "/=1 config.pbtxt=1 1/=9.5:model.onnx", "", "whole", "waiting until version 1 stands still: model.onnx changed 0.5 s ago"},
			{11, "/=1 config.pbtxt=1 1/=10.8:data/x", "", "whole", "waiting until version 1 stands still: data/x changed 0.2 s ago"},
			{12.8, "/=1 config.pbtxt=1 1/=10.8:data/x", "", "=1 1=10.8:data/x config.pbtxt=1", ""},
		},
		"a new version waits alone": {
			{10, "/=9 config.pbtxt=1 1/=1 2/=9", "/=1 config.pbtxt=1 1/=1", "=1 1=1 config.pbtxt=1", "waiting until version 2 stands still: its folder changed 1.0 s ago"},
			{11, "/=9 config.pbtxt=1 1/=1 2/=9", "/=1 config.pbtxt=1 1/=1", "=9 1=1 2=9 config.pbtxt=1", ""},
		},
		"others do not wait for it": {
			{10, "/=1 config.pbtxt=5 1/=1 2/=9.9:w 3/=6", "/=1 config.pbtxt=1 1/=1", "=1 1=1 3=6 config.pbtxt=5", "waiting until version 2 stands still: w changed 0.1 s ago"},
		},
		"a version that is being changed stays as it is": {
			{10, "/=1 config.pbtxt=1 1/=9:w 2/=7", "/=1 config.pbtxt=1 1/=1", "=1 1=1 2=7 config.pbtxt=1", "waiting until version 1 stands still: w changed 1.0 s ago"},
		},
		"a change for all versions waits for it": {
			{10, "/=1 config.pbtxt=5 1/=9:w", "/=1 config.pbtxt=1 1/=1", "whole", "waiting until version 1 stands still: w changed 1.0 s ago"},
		},
		"the configuration": {
			{10, "/=1 config.pbtxt=9 1/=1", "/=1 config.pbtxt=1 1/=1", "whole", "waiting until the model stands still: config.pbtxt changed 1.0 s ago"},
			{11.5, "/=1 config.pbtxt=9 1/=1", "/=1 config.pbtxt=1 1/=1", "=1 1=1 config.pbtxt=9", ""},
		},
		"a removed version": {
			{10, "/=9.5 config.pbtxt=1 1/=1", "/=1 config.pbtxt=1 1/=1 2/=1", "whole", "waiting until the model stands still: its folder changed 0.5 s ago"},
			{12, "/=9.5 config.pbtxt=1 1/=1", "/=1 config.pbtxt=1 1/=1 2/=1", "=9.5 1=1 config.pbtxt=1", ""},
		},
		"a file that is not complete": {
			{100, "/=1 config.pbtxt=1 1/=1 2/=1:w:w.part", "/=1 config.pbtxt=1 1/=1", "=1 1=1 config.pbtxt=1", "waiting until version 2 is complete: its name says that w.part is still being written"},
			{200, "/=1 config.pbtxt=1 1/=1 2/=1:w:w.part", "/=1 config.pbtxt=1 1/=1", "=1 1=1 config.pbtxt=1", "waiting until version 2 is complete: its name says that w.part is still being written"},
		},
		"one that is not complete tells more than a new one": {
			{10, "/=1 config.pbtxt=1 1/=1 2/=1:w:w.part 3/=9", "/=1 config.pbtxt=1 1/=1", "=1 1=1 config.pbtxt=1", "waiting until version 2 is complete: its name says that w.part is still being written"},
		},
		"what serves may have any file": {{10, "/=1 1/=9.9:w:w.part", "/=1 1/=9.9:w:w.part", "=1 1=9.9:w:w.part", ""}},
		"a time in the future":          {{10, "/=1 1/=99", "", "whole", "waiting until version 1 stands still: its folder changed 0.0 s ago"}, {12, "/=1 1/=99", "", "=1 1=99", ""}},
		"a store without times": {
			{10, "config.pbtxt=a 1/=a 2/=b", "config.pbtxt=a 1/=a", "1=a config.pbtxt=a", "waiting until version 2 stands still: its folder changed 0.0 s ago"},
			{11, "config.pbtxt=a 1/=a 2/=c", "config.pbtxt=a 1/=a", "1=a config.pbtxt=a", "waiting until version 2 stands still: its folder changed 0.0 s ago"},
			{12, "config.pbtxt=a 1/=a 2/=c", "config.pbtxt=a 1/=a", "1=a config.pbtxt=a", "waiting until version 2 stands still: its folder changed 1.0 s ago"},
			{13, "config.pbtxt=a 1/=a 2/=c", "config.pbtxt=a 1/=a", "1=a 2=c config.pbtxt=a", ""},
			{14, "config.pbtxt=a 2/=c", "config.pbtxt=a 1/=a 2/=c", "whole", "waiting until the model stands still: 1 was removed 0.0 s ago"},
			{15, "config.pbtxt=a 1/=a 2/=c", "config.pbtxt=a 1/=a 2/=c", "1=a 2=c config.pbtxt=a", ""},
			{16, "config.pbtxt=a 2/=c", "config.pbtxt=a 1/=a 2/=c", "whole", "waiting until the model stands still: 1 was removed 0.0 s ago"},
			{18, "config.pbtxt=a 2/=c", "config.pbtxt=a 1/=a 2/=c", "2=c config.pbtxt=a", ""},
		},
		"a folder that cannot be read": {{10, "", "/=1 1/=1", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := SettleTracker{Time: 2 * time.Second}
			for _, p := range polls {
				visible, w, whole := tracker.Settled(settleID, clockAt(p.at), stampAt(p.found), stampAt(p.loaded))
				got, wait := textOf(visible), ""
				if whole {
					got = "whole"
				}
				if w != nil {
					wait = w.Text(clockAt(p.at))
				}
				require.Equal(t, p.want, got, "at %g", p.at)
				require.Equal(t, p.wait, wait, "at %g", p.at)
			}
		})
	}
}

// A model is gone once it is away for the settle time. Its return ends that.
func TestMissing(t *testing.T) {
	t.Parallel()
	tracker := SettleTracker{Time: 2 * time.Second}
	loaded := stampAt("/=1 1/=1")
	require.Equal(t, "waiting whether the model is replaced: its folder was gone 0.0 s ago", tracker.Missing(settleID, clockAt(10)).Text(clockAt(10)))
	require.NotNil(t, tracker.Missing(settleID, clockAt(11.9)))
	_, w, _ := tracker.Settled(settleID, clockAt(12), stampAt("/=11.9 1/=11.9"), loaded)
	require.NotNil(t, w)
	require.NotNil(t, tracker.Missing(settleID, clockAt(13)))
	require.NotNil(t, tracker.Missing(settleID, clockAt(14)))
	require.Nil(t, tracker.Missing(settleID, clockAt(15)))
	require.Empty(t, tracker.seen, "nothing is remembered of it")
	require.Nil(t, (&SettleTracker{}).Missing(settleID, clockAt(1)))
}

// At the start, a version with a file that is not complete is left out if there is another one.
func TestComplete(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1=5 config.pbtxt=1", textOf(CompleteVersions(stampAt("config.pbtxt=1 1/=5 2/=5:w:w.part"))))
	require.Equal(t, "2=5:w:w.part config.pbtxt=1", textOf(CompleteVersions(stampAt("config.pbtxt=1 2/=5:w:w.part"))))
	require.Equal(t, "", textOf(CompleteVersions(nil)))
}

// FuzzView: whatever is found, the view has nothing that is younger than the settle time unless it serves,
// and everything is visible once nothing changes for the settle time.
func FuzzView(f *testing.F) {
	f.Add([]byte{1, 2, 3}, []byte{1, 2, 4, 9})
	f.Fuzz(func(t *testing.T, before, after []byte) {
		names := []string{"/", "config.pbtxt", "1/", "2/", "labels.txt", "3/"}
		make := func(b []byte) store.Stamp {
			var all []string
			for i, c := range b[:min(len(b), len(names))] {
				if c > 0 {
					all = append(all, fmt.Sprintf("%s=%g", names[i], float64(c)/10))
				}
			}
			return stampAt(strings.Join(all, " "))
		}
		loaded, found := make(before), make(after)
		now := clockAt(25.5)
		tracker := SettleTracker{Time: 2 * time.Second}
		visible, _, whole := tracker.Settled(settleID, now, found, loaded)
		if !whole {
			for name, e := range visible {
				if name != "" && e.Tag != loaded[name].Tag { // the folder changes with its entries
					require.False(t, time.Unix(0, e.ChangedAt).Add(tracker.Time).After(now), name)
				}
			}
		}
		visible, w, whole := tracker.Settled(settleID, now.Add(tracker.Time), found, loaded)
		require.False(t, whole)
		require.Nil(t, w)
		require.Equal(t, textOf(found), textOf(visible))
	})
}

// TestStoreWithoutTimes: what a store without times has stands still from the first look at it on, and
// what it no longer has is gone when it is still missing after the settle time.
func TestStoreWithoutTimes(t *testing.T) {
	t.Parallel()
	tracker := SettleTracker{Time: 10 * time.Second}
	now := time.Unix(1000, 0)
	untimed := func(tags ...string) store.Stamp {
		s := store.Stamp{"": {Dir: true}}
		for i, tag := range tags {
			s[strconv.Itoa(i+1)] = store.Entry{Tag: tag, Dir: true}
		}
		return s
	}
	look := func(after time.Duration, found, loaded store.Stamp) (store.Stamp, *SettleWait, bool) {
		now = now.Add(after)
		return tracker.Settled(settleID, now, found, loaded)
	}
	one := untimed("a")
	_, w, whole := look(0, one, nil)
	require.True(t, whole)
	require.Equal(t, now.Add(10*time.Second), w.Until)
	seen, w, whole := look(10*time.Second, one, nil)
	require.False(t, whole)
	require.Nil(t, w)
	require.Equal(t, one, seen)

	two := untimed("a", "b")
	seen, w, whole = look(0, two, one)
	require.NotNil(t, w)
	require.False(t, whole)
	require.True(t, seen.Same(one), "the new version is left out")
	_, w, _ = look(9*time.Second, untimed("a", "bb"), one)
	require.Equal(t, now.Add(10*time.Second), w.Until, "the upload goes on")
	seen, w, _ = look(10*time.Second, untimed("a", "bb"), one)
	require.Nil(t, w)
	require.Equal(t, untimed("a", "bb"), seen)

	_, w, whole = look(0, one, two)
	require.NotNil(t, w)
	require.True(t, whole)
	seen, w, whole = look(10*time.Second, one, two)
	require.Nil(t, w)
	require.False(t, whole)
	require.Equal(t, one, seen)
}
