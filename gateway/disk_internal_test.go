package gateway

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDiskReadsLinks(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, target string
		ok           bool
	}{
		{link, "/etc", true},
		{file, "", false},
		{dir, "", false},
		{filepath.Join(dir, "absent"), "", false},
		{filepath.Join(file, "below a file"), "", false},
	}
	for _, tt := range tests {
		target, ok, err := disk{}.Readlink(tt.name, time.Minute)
		if target != tt.target || ok != tt.ok || err != nil {
			t.Errorf("Readlink(%s) = %q, %v, %v; want %q, %v", tt.name, target, ok, err, tt.target, tt.ok)
		}
	}
}

func TestDiskWithTooManyStuckLooksFails(t *testing.T) {
	for range maxStuck {
		looks <- struct{}{}
	}
	defer func() {
		for range maxStuck {
			<-looks
		}
	}()
	if _, _, err := (disk{}).Readlink("/", time.Millisecond); err == nil {
		t.Error("no error although no look can begin")
	}
}
