package backend_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

// noForce refuses force pushes.
func noForce(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
	if strings.Contains(string(r.Event.Tool.Input), "push --force") {
		return []ahp.Effect{&ahp.Deny{Reason: "Force pushes are not allowed here: push to a new branch."}}, nil
	}
	return nil, nil
}

// A backend that harnesses start as a process: whatever else the program prints
// goes to stderr.
func ExampleStdioMain() {
	s, err := backend.New(backend.HandlerFunc(noForce), backend.Options{})
	if err != nil {
		panic(err) // the options are wrong
	}
	if err := backend.StdioMain(context.Background(), s); err != nil {
		log.Println(err)
	}
}

// A backend behind HTTP, with a bearer token.
func ExampleServer_ServeHTTP() {
	s, err := backend.New(backend.HandlerFunc(noForce), backend.Options{
		Authenticate: backend.BearerToken("the token from a secret store", "agents"),
	})
	if err != nil {
		panic(err)
	}
	http.Handle("/hooks", s)
	log.Println(http.ListenAndServeTLS(":8443", "cert.pem", "key.pem", nil))
}

// A backend in the harness's own process.
func ExampleServer_Local() {
	s, err := backend.New(backend.HandlerFunc(noForce), backend.Options{})
	if err != nil {
		panic(err)
	}
	answer, err := s.Local(context.Background(), []byte(`{"jsonrpc":"2.0","id":"e1","method":"hooks/intercept","params":{
		"protocolVersion":"0.1","capabilities":{"effects":["deny"]},"event":{"id":"e1","source":"urn:example:harness",
		"type":"tool.before","time":"2027-02-03T04:05:06Z","session":{"id":"s1"},
		"tool":{"callId":"c1","name":"Bash","kind":"shell","input":{"command":"git push --force"}}}}}`))
	fmt.Println(string(answer), err)
	// Output:
	// {"jsonrpc":"2.0","id":"e1","result":{"protocolVersion":"0.1","effects":[{"type":"deny","reason":"Force pushes are not allowed here: push to a new branch."}]}} <nil>
}
