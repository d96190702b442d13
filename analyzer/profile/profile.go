// Package profile measures the trials that a search proposes: it writes variants of models to an
// output repository, starts a server on them, puts load on it and collects metrics. Finished trials
// are in a checkpoint, so that a later run does not measure them again. The servers, the load
// generator and the search are dependencies.
package profile
