package transport

// AnswerID lets the fuzz test see how late answers are told apart.
var AnswerID = answerID

// NewRing and its methods let the test fill the ring in pieces.
func NewRing(n int) interface {
	Write([]byte) (int, error)
	Bytes() []byte
} {
	return newRing(n)
}

// OnlyLoopback is the check on every address that plain HTTP connects to.
var OnlyLoopback = onlyLoopback
