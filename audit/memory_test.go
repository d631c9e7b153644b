package audit_test

import (
	"errors"
	"testing"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) audit.Log {
		log, err := audit.NewMemory(0)
		if err != nil {
			t.Fatal(err)
		}
		return log
	})
}

func TestMemoryFull(t *testing.T) {
	log, err := audit.NewMemory(1000)
	if err != nil {
		t.Fatal(err)
	}
	e := audit.Entry{Version: 1, Kind: audit.Settlement, Data: make([]byte, 600)}
	if _, err := log.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), e); !errors.Is(err, audit.ErrFull) {
		t.Fatalf("got %v", err)
	}
	if _, err := log.Retain(t.Context(), audit.Policy{MaxBytes: 100}); err != nil {
		t.Fatal(err)
	}
	if id, err := log.Append(t.Context(), e); err != nil || id != 2 {
		t.Fatalf("after retain: %d, %v", id, err)
	}
}
