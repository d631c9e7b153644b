//go:build hookpanic

package main

import "os"

// testHook panics at the stages that HOLDPOINT_TEST_PANIC lists, separated by
// commas. It exists in test builds only.
func testHook(stage string) {
	list := os.Getenv("HOLDPOINT_TEST_PANIC")
	for start, i := 0, 0; i <= len(list); i++ {
		if i == len(list) || list[i] == ',' {
			if list[start:i] == stage {
				panic("injected: " + stage)
			}
			start = i + 1
		}
	}
}
