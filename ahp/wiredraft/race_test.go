//go:build race

package wiredraft_test

const raceEnabled = true // it counts allocations of its own
