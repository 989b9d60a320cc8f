// Package property tests the whole product against random histories: batches of writes meet faults of Google's, stalled and
// dying runners, jobs that are delivered twice and workers that are stopped, and at the end the books must agree with what
// the simulator's journal says was done. It holds tests only.
//
// A history is drawn from a seed and can be played again: go test ./internal/property -seed N -sequences 1. What runs at the
// same time on the same stack is not part of it, so a failing one is played again alone, and made smaller while it fails.
package property
