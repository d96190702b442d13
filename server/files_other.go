//go:build !unix

package server

// maxConnections returns 0: the system has no limit of open files.
func maxConnections() int { return 0 }

// maxRegions returns 0: the system has no limit of open files.
func maxRegions() int { return 0 }

func outOfFiles(error) bool { return false }
