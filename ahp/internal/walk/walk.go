// Package walk reads JSON strictly and in one pass, and knows at each point where it
// is. It is what the codecs of the protocol's revisions are made of.
package walk

import "github.com/holdpoint/holdpoint/ahp"

// Limits bounds one text. All numbers are positive.
type Limits struct {
	MaxBytes   int // length of the text
	MaxDepth   int // nested objects and arrays, the outermost counts 1
	MaxMembers int // members of one object
	MaxItems   int // items of one array
	SingleLine bool
}

// A Stage orders the checks of a message: of all problems, one of the lowest stage
// decides about class and code.
type Stage uint8

// A Problem is one thing that is wrong with a text.
type Problem struct {
	Stage    Stage
	Class    ahp.FailureClass
	Code     ahp.ErrorCode
	Off      int
	Pointer  string
	Found    string
	Expected string
	Warning  bool
}
