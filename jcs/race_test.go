//go:build race

package jcs_test

const raceEnabled = true
