package leak_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/internal/leak"
)

// One that ends while it is looked for is none, one that stays is.
func TestFind(t *testing.T) {
	there := goleak.IgnoreCurrent()
	if err := leak.Find(there); err != nil {
		t.Fatal(err)
	}
	begun, end := make(chan struct{}), make(chan struct{})
	go func() { close(begun); <-end }()
	<-begun
	if err := goleak.Find(there); err == nil {
		t.Fatal("nothing was found")
	}
	close(end)
	if err := leak.Find(there); err != nil {
		t.Error(err)
	}
}
