package harness_test

import "encoding/json"

// frameID returns the id of a request; ok is false for a notification.
func frameID(frame []byte) (id string, ok bool) {
	var m struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(frame, &m) != nil || m.ID == nil {
		return "", false
	}
	return *m.ID, true
}
