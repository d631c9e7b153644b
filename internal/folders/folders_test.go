package folders_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/internal/folders"
)

func TestFolders(t *testing.T) {
	tests := []struct {
		name, home, config, state string
		wantConfig, wantState     string
	}{
		{"defaults", "/home/ada", "", "", "/home/ada/.config/holdpoint", "/home/ada/.local/state/holdpoint"},
		{"both set", "/home/ada", "/c", "/s", "/c/holdpoint", "/s/holdpoint"},
		{"relative is ignored", "/home/ada", "c", "./s", "/home/ada/.config/holdpoint", "/home/ada/.local/state/holdpoint"},
		{"no home", "", "", "", "", ""},
		{"no home but set", "", "/c", "/s", "/c/holdpoint", "/s/holdpoint"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HOME", tt.home)
			t.Setenv("XDG_CONFIG_HOME", tt.config)
			t.Setenv("XDG_STATE_HOME", tt.state)
			if got, err := folders.Config(); got != tt.wantConfig || (err != nil) != (tt.wantConfig == "") {
				t.Errorf("Config = %q, %v; want %q", got, err, tt.wantConfig)
			}
			if got, err := folders.State(); got != tt.wantState || (err != nil) != (tt.wantState == "") {
				t.Errorf("State = %q, %v; want %q", got, err, tt.wantState)
			}
		})
	}
}
