//go:build !race

package wiredraft_test

const raceEnabled = false
