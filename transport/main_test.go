package transport_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
)

func TestMain(m *testing.M) {
	code := badtest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
