package agenthooks_test

import (
	"os"
	"testing"

	"github.com/holdpoint/holdpoint/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Main(m)) }
