//go:build unix

package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// onHangup calls f for each SIGHUP until stop is called.
func onHangup(f func()) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-c:
				f()
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(c)
		close(done)
		wg.Wait()
	}
}
