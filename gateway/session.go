package gateway

import (
	"container/list"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/native"
)

// maxSessions bounds the memory of sessions; the least recent one is forgotten.
const maxSessions = 4096

// A Workspace is where an agent session works.
type Workspace struct {
	Roots []string          // absolute and clean; nil when none is usable
	From  native.RootSource // how they were found; part of the record
}

// FindWorkspace returns the workspace of a session that starts in cwd and names
// no roots. home is the user's home folder, which is never a workspace.
func FindWorkspace(cwd, home string) Workspace {
	roots, from := native.FindRoots(nil, cwd, home, native.OS{})
	return Workspace{Roots: roots, From: from}
}

// sessions remembers the workspace of each agent session, the most recent ones
// only. The first working directory counts: an agent that changes its directory
// later moves no border. It is safe for concurrent use.
type sessions struct {
	home string

	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *session, most recent first
}

type session struct {
	key    string
	ws     Workspace
	placed bool // ws was found; an agent that names its roots needs none

	turn  string // that was kept going last
	steps int64  // how often

	asks []string // the calls that a control asked about last
}

// maxAsks bounds the calls that a session remembers as asked about. An agent prompts
// for one before it goes on.
const maxAsks = 16

func newSessions(home string) *sessions {
	return &sessions{home: home, byKey: map[string]*list.Element{}, order: list.New()}
}

// workspace returns the roots for an event of the session key. What the agent
// names in this event wins and is not remembered; otherwise the session's first
// event decides.
func (s *sessions) workspace(key string, named []string, cwd string) Workspace {
	if len(named) > 0 {
		if roots, from := native.FindRoots(named, "", s.home, native.OS{}); from == native.RootAgent {
			return Workspace{roots, from}
		}
	}
	s.mu.Lock()
	if e, ok := s.byKey[key]; ok && e.Value.(*session).placed {
		s.order.MoveToFront(e)
		ws := e.Value.(*session).ws
		s.mu.Unlock()
		return ws
	}
	s.mu.Unlock()
	ws := FindWorkspace(cwd, s.home) // looks at the disk: not under the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.of(key)
	if !v.placed { // else an event of the same session was faster
		v.ws, v.placed = ws, true
	}
	return v.ws
}

// of returns the session, which it makes where there is none. It needs the lock.
func (s *sessions) of(key string) *session {
	if e, ok := s.byKey[key]; ok {
		s.order.MoveToFront(e)
		return e.Value.(*session)
	}
	v := &session{key: key}
	s.byKey[key] = s.order.PushFront(v)
	if s.order.Len() > maxSessions {
		last := s.order.Back()
		delete(s.byKey, s.order.Remove(last).(*session).key)
	}
	return v
}

// steps returns how often the turn of a session was kept going.
func (s *sessions) steps(key, turn string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		if v := e.Value.(*session); v.turn == turn {
			return v.steps
		}
	}
	return 0
}

// step notes that the turn of a session was kept going n times by now.
func (s *sessions) step(key, turn string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.of(key)
	v.turn, v.steps = turn, n
}

// ask notes that a control asked for an approval of a call.
func (s *sessions) ask(key, call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.of(key)
	if slices.Contains(v.asks, call) {
		return
	}
	if len(v.asks) == maxAsks {
		v.asks = slices.Delete(v.asks, 0, 1)
	}
	v.asks = append(v.asks, call)
}

// asked reports whether a control asked for an approval of a call.
func (s *sessions) asked(key, call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byKey[key]
	return ok && slices.Contains(e.Value.(*session).asks, call)
}

// forget drops a session that has ended.
func (s *sessions) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		delete(s.byKey, s.order.Remove(e).(*session).key)
	}
}

func (s *sessions) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.order.Len()
}
