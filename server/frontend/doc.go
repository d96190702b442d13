// Package frontend holds the decisions that are the same for all frontends: load
// parameters, trace settings, log settings, and the frontend's part in the traces of
// requests.
package frontend
