package scaffold

// Write makes the model directory for a file.
func Write(file string, o Options) (Result, error) {
	m, err := Read(file, o)
	if err != nil {
		return Result{}, err
	}
	return m.Write(o)
}
