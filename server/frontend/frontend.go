// Package frontend holds what all frontends decide alike, whatever their codec: load parameters,
// trace settings, log settings, and their part in the traces of requests.
package frontend
