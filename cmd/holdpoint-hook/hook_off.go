//go:build !hookpanic

package main

func testHook(string) {}
