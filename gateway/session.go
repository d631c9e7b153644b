package gateway

import (
	"container/list"
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
	key string
	ws  Workspace

	turn  string // that was kept going last
	steps int64  // how often
}

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
	if e, ok := s.byKey[key]; ok {
		s.order.MoveToFront(e)
		ws := e.Value.(*session).ws
		s.mu.Unlock()
		return ws
	}
	s.mu.Unlock()
	ws := FindWorkspace(cwd, s.home) // looks at the disk: not under the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok { // an event of the same session was faster
		return e.Value.(*session).ws
	}
	s.byKey[key] = s.order.PushFront(&session{key: key, ws: ws})
	if s.order.Len() > maxSessions {
		last := s.order.Back()
		delete(s.byKey, s.order.Remove(last).(*session).key)
	}
	return ws
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
	if e, ok := s.byKey[key]; ok {
		v := e.Value.(*session)
		v.turn, v.steps = turn, n
	}
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
