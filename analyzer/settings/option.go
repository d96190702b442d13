package settings

func findOption(string) *int { return new(int) }
