package ui

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

// startOn starts a view on a screen that is redrawn each second.
func startOn(s *sharedtest.Screen, render func(width int) string) *Live {
	return StartLive(s, time.Second, func(width, _ int) string { return render(width) })
}

// stop stops a view and waits for its last timer.
func stop(l *Live) error {
	defer time.Sleep(2 * time.Second)
	return l.Stop()
}

// next waits until the view was redrawn.
func next() {
	time.Sleep(time.Second + time.Second/framesPerSecond)
	synctest.Wait()
}

func TestLiveLosesNoLine(t *testing.T) {
	for _, height := range []int{2, 3, 6, 24} {
		t.Run(fmt.Sprint(height), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sharedtest.NewScreen(20, height)
				_, err := s.Write([]byte("before\r\nmore\r\n"))
				require.NoError(t, err)
				var frame atomic.Pointer[string]
				show := func(text string) {
					frame.Store(&text)
					next()
				}
				l := startOn(s, func(int) string { return *frame.Load() })
				l.Print("first")
				show(Strong("level") + " 1\nrate\n####")
				require.True(t, strings.HasSuffix(s.String(), "\n####"), s.String())
				require.True(t, s.Hidden())
				l.Print("second\nthird\n")
				show("level 2\nrate of more than twenty columns\n################")
				l.Print("a line that the terminal wraps\n\na line of exactly 20")
				show("level 3\nrate")
				require.True(t, strings.HasSuffix(s.String(), "\nrate"), s.String())
				l.Print("last")
				require.NoError(t, stop(l))
				require.Equal(t, "before\nmore\nfirst\nsecond\nthird\n"+
					"a line that the term\ninal wraps\n\na line of exactly 2\n0\nlast", unwrapped(s, height))
				require.False(t, s.Hidden())
				require.Zero(t, s.Column())
				require.Empty(t, s.Unknown())
			})
		})
	}
}

// unwrapped returns what a screen shows; on low screens long lines are broken
// one column earlier.
func unwrapped(s *sharedtest.Screen, height int) string {
	if height > maxRows {
		return s.String()
	}
	return strings.Replace(s.String(), "a line that the ter\nminal wraps", "a line that the term\ninal wraps", 1)
}

func TestLiveDrawsAtEachWidth(t *testing.T) {
	for width, want := range map[int]string{
		5:  "up\nwidth\n█████",
		8:  "up\nwidth 8\n████████",
		40: "up\nwidth 40\n████████████████████████████████████████",
	} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sharedtest.NewScreen(width, 10)
				l := startOn(s, func(width int) string { return fmt.Sprintf("width %d\n%s", width, strings.Repeat("█", width)) })
				next()
				l.Print("up")
				next()
				require.Equal(t, want, s.String())
				require.NoError(t, stop(l))
				require.Equal(t, "up", s.String())
			})
		})
	}
}

func TestLiveFollowsTheSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedtest.NewScreen(20, 10)
		l := startOn(s, func(width int) string { return fmt.Sprint("width ", width) })
		next()
		require.Equal(t, "width 20", s.String())
		s.Resize(12)
		l.program.Send(tea.WindowSizeMsg{Width: 12, Height: 10})
		next()
		require.Equal(t, "width 12", s.String())
		require.NoError(t, stop(l))
	})
}

func TestLiveDropsTheFirstRowsOfHighViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for height, want := range map[int]string{4: "10\n11\n12", 30: "3\n4\n5\n6\n7\n8\n9\n10\n11\n12"} {
			s := sharedtest.NewScreen(20, height)
			l := startOn(s, func(int) string { return "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n" })
			next()
			require.Equal(t, want, s.String())
			require.NoError(t, stop(l))
			require.Empty(t, s.String())
		}
	})
}

func TestLiveDrawsOverAnEchoedInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedtest.NewScreen(20, 10)
		l := startOn(s, func(int) string { return "level\n####" })
		next()
		_, err := s.Write([]byte("^C"))
		require.NoError(t, err)
		l.Print("interrupted")
		next()
		require.Equal(t, "interrupted\nlevel\n####", s.String())
		require.NoError(t, stop(l))
		require.Equal(t, "interrupted", s.String())
	})
}

func TestLiveSendsNoTerminalQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var raw strings.Builder
		l := StartLive(&raw, time.Second, func(int, int) string { return "view" })
		next()
		require.NoError(t, stop(l))
		for _, question := range []string{"$p", "\x1b[c", "[6n", "?u", "\x1bP", "\x1b]", "?2004h", "?1049h"} {
			require.NotContains(t, raw.String(), question)
		}
	})
}

func TestLiveKeepsTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedtest.NewScreen(20, 10)
		l := startOn(s, func(int) string { return "view" })
		s.Fail(errors.New("no space left"))
		next()
		s.Fail(nil)
		require.EqualError(t, stop(l), "no space left")
	})
}

func TestPrintAfterTheProgramEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sharedtest.NewScreen(20, 10)
		l := startOn(s, func(int) string { return "view" })
		l.program.Kill()
		<-l.ended
		l.Print("a line of exactly 20\nlast")
		require.Contains(t, s.String(), "last")
		require.ErrorIs(t, stop(l), tea.ErrProgramKilled)
	})
}

func TestNarrowTable(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "name"}, {Title: "a", Spare: 1}, {Title: "bb", Spare: 2}, {Title: "c"}, {Title: "dd", Spare: 2}}
	rows := [][]string{{"x", "1", "2", "333", "4"}, {"y", "5", "6", "7", "8"}}
	titles := func(width int) string {
		var all []string
		got, cells := narrow(width, columns, rows)
		for i, c := range got {
			all = append(all, c.Title+"="+cells[1][i])
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, "name=y a=5 bb=6 c=7 dd=8", titles(28))
	require.Equal(t, "name=y a=5 bb=6 c=7", titles(27))
	require.Equal(t, "name=y a=5 c=7", titles(22))
	require.Equal(t, "name=y c=7", titles(17))
	require.Equal(t, "name=y c=7", titles(3))
}
