// Command hello is the floor of a start-up: it writes one word.
package main

import "os"

func main() {
	_, _ = os.Stdout.WriteString("hello\n")
}
