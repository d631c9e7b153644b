package transport

import "context"

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

// Dial connects as the HTTP carrier c does, to an address that a name could have
// led to.
func Dial(ctx context.Context, c Carrier, address string) error {
	conn, err := c.(*httpCarrier).own.DialContext(ctx, "tcp", address)
	if err == nil {
		conn.Close()
	}
	return err
}
