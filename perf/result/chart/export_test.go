package chart

// Hash is hash, for tests.
var Hash = hash
