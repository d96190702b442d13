package ui

import "github.com/charmbracelet/x/ansi"

// Strong returns s in bold.
func Strong(s string) string { return ansi.NewStyle().Bold().Styled(s) }

// Faint returns s in a lower intensity.
func Faint(s string) string { return ansi.NewStyle().Faint().Styled(s) }

// Palette colors texts. With Color unset it returns them as they are.
type Palette struct{ Color bool }

// Good returns s in green.
func (p Palette) Good(s string) string { return p.colored(ansi.Green, s) }

// Warn returns s in yellow.
func (p Palette) Warn(s string) string { return p.colored(ansi.Yellow, s) }

// Bad returns s in red.
func (p Palette) Bad(s string) string { return p.colored(ansi.Red, s) }

func (p Palette) colored(c ansi.BasicColor, s string) string {
	if !p.Color {
		return s
	}
	return ansi.NewStyle().ForegroundColor(c).Styled(s)
}
