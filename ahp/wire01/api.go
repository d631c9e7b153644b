package wire01

import (
	"errors"

	"github.com/holdpoint/holdpoint/ahp"
)

var errNotYet = errors.New("not written yet")

func Decode(frame []byte, l Limits) (*Message, error) { return nil, errNotYet }

func DecodeRequest(frame []byte, l Limits) (*Message, *Error) { return nil, &Error{Class: ahp.FailInternal} }

func DecodeResponse(frame []byte, id string, caps ahp.Capabilities, l Limits) ([]ahp.Effect, *ahp.Failure) {
	return nil, &ahp.Failure{Class: ahp.FailInternal}
}

func AppendIntercept(dst []byte, ev *ahp.Event, caps ahp.Capabilities, exts ahp.Members) ([]byte, error) {
	return dst, errNotYet
}

func AppendObserve(dst []byte, ev *ahp.Event) ([]byte, error) { return dst, errNotYet }

func AppendResult(dst []byte, id ahp.Raw, effects []ahp.Effect, exts ahp.Members) ([]byte, error) {
	return dst, errNotYet
}

func AppendError(dst []byte, id ahp.Raw, code ahp.ErrorCode, message string, data ahp.Raw) ([]byte, error) {
	return dst, errNotYet
}

type RegOptions struct {
	LookupEnv      func(name string) (string, bool)
	AllowPlainHTTP bool
	Limits         Limits
}

func ParseRegistration(name string, data []byte, o RegOptions) (*ahp.Registration, []Problem, error) {
	return nil, nil, errNotYet
}

type Kind string

const (
	KindMessage      Kind = "message"
	KindEvent        Kind = "event"
	KindRegistration Kind = "registration"
)

func Lint(name string, data []byte, kind Kind) ([]Problem, Kind) { return nil, kind }
