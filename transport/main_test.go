package transport_test

import (
	"os"
	"testing"

	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/internal/leak"
)

func TestMain(m *testing.M) {
	code := badtest.Main(m)
	if code == 0 {
		if err := leak.Find(); err != nil {
			os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
