package transport

import (
	"errors"

	"github.com/holdpoint/holdpoint/ahp"
)

func newStdio(b *ahp.Backend, t *ahp.StdioTransport, o Options) (Carrier, error) {
	return nil, errors.New("stdio: not available yet")
}
