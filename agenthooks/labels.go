package agenthooks

import (
	"maps"
	"slices"
	"sync"
)

// Labels are result labels by the namespace of the interceptor that gave them,
// each list without repetition, first seen first (AH-5.4-3).
type Labels map[string][]string

func (l Labels) add(namespace string, labels []string) Labels {
	if namespace == "" || len(labels) == 0 {
		return l
	}
	if l == nil {
		l = Labels{}
	}
	for _, s := range labels {
		if !slices.Contains(l[namespace], s) {
			l[namespace] = append(l[namespace], s)
		}
	}
	return l
}

// sourceLabels is one extensions.<namespace>.source_labels.
type sourceLabels struct {
	namespace string
	labels    []string
}

// labelStore keeps labels by the name of the data.
type labelStore struct {
	mu   sync.Mutex
	data map[string]Labels
}

func (s *labelStore) keep(data string, l Labels) {
	if data == "" || len(l) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = map[string]Labels{}
	}
	have := s.data[data]
	for _, ns := range slices.Sorted(maps.Keys(l)) {
		have = have.add(ns, l[ns])
	}
	s.data[data] = have
}

func (s *labelStore) union(data []string) Labels {
	if len(data) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out Labels
	for _, d := range data {
		for ns, l := range s.data[d] {
			out = out.add(ns, l)
		}
	}
	return out
}

func (s *labelStore) forget(data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.data, data)
}

func (l Labels) sources() []sourceLabels {
	if len(l) == 0 {
		return nil
	}
	out := make([]sourceLabels, 0, len(l))
	for _, ns := range slices.Sorted(maps.Keys(l)) {
		out = append(out, sourceLabels{ns, l[ns]})
	}
	return out
}
