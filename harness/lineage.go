package harness

import (
	"errors"
	"sync"

	"github.com/holdpoint/holdpoint/ahp"
)

// maxLineage bounds the events whose parents are remembered.
const maxLineage = 1024

var (
	errOwnParent = errors.New("parentEventId: the event's own id")
	errCycle     = errors.New("parentEventId: leads back to the event")
	errTask      = errors.New("parentEventId: the proposal has another task id or operation")
)

// lineage remembers the newest events that have a parent, or that are proposals, so
// that no cycle is made (D-LIN-1) and a task's change fits its proposal (D-LIN-5). A
// parent that it does not know is all right: it may be old or another harness's
// (D-LIN-3).
type lineage struct {
	mu    sync.Mutex
	known map[string]ancestry
	ring  [maxLineage]string
	next  int
}

type ancestry struct {
	parent          string
	task, operation string
}

// admit checks ev's parent and takes ev in.
func (l *lineage) admit(ev *ahp.Event) error {
	task, _ := ev.Body.(*ahp.TaskChangeBody)
	if ev.Parent == "" && (task == nil || ev.Type != ahp.TaskChangeBefore) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ev.Parent == ev.ID && ev.Parent != "" {
		return errOwnParent
	}
	at := ev.Parent
	for range maxLineage {
		a, ok := l.known[at]
		if !ok || a.parent == "" {
			break
		}
		if at = a.parent; at == ev.ID {
			return errCycle
		}
	}
	if ev.Type == ahp.TaskChangeAfter && task != nil {
		if p := l.known[ev.Parent]; p.task != "" && (p.task != task.ID || p.operation != task.Operation) {
			return errTask
		}
	}
	a := ancestry{parent: ev.Parent}
	if ev.Type == ahp.TaskChangeBefore && task != nil {
		a.task, a.operation = task.ID, task.Operation
	}
	if l.known == nil {
		l.known = map[string]ancestry{}
	}
	if _, ok := l.known[ev.ID]; !ok {
		delete(l.known, l.ring[l.next])
		l.ring[l.next] = ev.ID
		l.next = (l.next + 1) % maxLineage
	}
	l.known[ev.ID] = a
	return nil
}
