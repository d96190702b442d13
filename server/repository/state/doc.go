// Package state holds what a server should load, what it has loaded, and the plan between them. The desired
// state has the models to serve, what requested each and the content to load. The actual state has the models
// and versions that exist, in snapshots that requests read without a lock. A plan has the actions that lead
// from one to the other.
// It loads and reads nothing: package repository carries the actions out.
//
// What a repository knows of a model, and for how long:
//
//	known            is                                         set by              until
//	layout.Listing   the model in the store, with its stamp     each operation      the next listing
//	Desired          who wants it; the content that was read    each operation      it is unloaded or gone
//	Outcome          what its last load brought, or its error   each load           it is unloaded or gone
//	Actual           its versions and the state of each         loads and unloads   never: they stay as unavailable
//	SettleTracker    when a part of it was seen to change       polls               that part stands still
//	lastSeen         the stamp that a poll saw stand still      start and polls     it is gone, or left to a later poll
//	refused          why its configuration could not be read    each operation      it can be read, or is unloaded
//
// An operation compares them in one Finding for each model, and Finding.Need answers whether the model must
// be loaded. PlanVersions then says which of its versions are, and Desired.EnsemblesOf which ensembles are
// loaded again with it. An empty cell stands for any value.
//
//	the stamp of the store      stands  seen   configuration  instances  steps      Need         loads
//	                            still   before of a client
//	any                         no                                                  Unsettled    nothing
//	any, made room since                                                            Unloaded     nothing
//	other, or instances broken  yes     yes                                         Tried        nothing
//	any                         yes     no     given                                Requested    with it
//	other, or another place     yes     no     none                                 Changed      the store's configuration
//	the same                    yes     no     none           broken                Broken       as before
//	the same                    yes            none           work       others     Reconnected  as before
//	the same                    yes            none           work       the same   Unchanged    nothing
package state
