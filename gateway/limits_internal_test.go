package gateway

import "time"

// What is left out when it takes too long is left out on a machine that stands still
// for a moment, too: no test but those of the limits themselves may depend on that.
func init() { diskLimit, overlayTime = time.Minute, time.Minute }
