//go:build !linux

package main

import (
	"errors"
	"time"
)

var errNotHere = errors.New("measured on Linux only")

func cpuTime(int) (time.Duration, error) { return 0, errNotHere }

func resident(int, string) (float64, error) { return 0, errNotHere }

// pin does nothing here.
func pin() (func(), error) { return func() {}, nil }
