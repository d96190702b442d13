package result

// Hash is hash, for tests.
var Hash = hash
