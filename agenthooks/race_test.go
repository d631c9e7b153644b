//go:build race

package agenthooks_test

const raceEnabled = true
