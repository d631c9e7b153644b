package main_test

import "syscall"

func mountTmpfs(dir, options string) error { return syscall.Mount("none", dir, "tmpfs", 0, options) }
