// Command echo copies stdin to stdout until stdin ends. It is the floor of a
// round trip over pipes, and the floor of a process per event.
package main

import "os"

func main() {
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if n > 0 {
			if _, err := os.Stdout.Write(buf[:n]); err != nil {
				os.Exit(1)
			}
		}
		if err != nil {
			return
		}
	}
}
