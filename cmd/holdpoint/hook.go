package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/atomicfile"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// settingsFile lies beside the hook socket. The daemon writes there what a
// decision without it needs, so that both decide alike.
const settingsFile = "serve.json"

// settings are the parts of serve's command line that decide.
type settings struct {
	Version       int      `json:"version"`
	Policy        string   `json:"policy"`
	Hooks         []string `json:"hooks"`
	PolicyTimeout string   `json:"policyTimeout"`
	FailurePolicy string   `json:"failurePolicy"`

	ProjectOverlays bool `json:"projectOverlays,omitempty"`
	RewriteAllows   bool `json:"rewriteAllows,omitempty"`

	Secrets string `json:"secrets,omitempty"`
}

const settingsVersion = 1

func (s *settings) write(socket string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(filepath.Dir(socket), settingsFile), append(b, '\n'), 0o600)
}

// readSettings returns what the daemon of this socket was started with. Where no
// daemon ever ran, the default pack decides and failures refuse.
func readSettings(socket string) (*settings, error) {
	def := &settings{Version: settingsVersion, PolicyTimeout: "2s", FailurePolicy: string(ahp.FailClosed)}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(socket), settingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return def, nil
	}
	if err != nil {
		return nil, err
	}
	s := &settings{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s: %w", settingsFile, err)
	}
	if s.Version != settingsVersion {
		return nil, fmt.Errorf("%s: version %d, expected %d", settingsFile, s.Version, settingsVersion)
	}
	return s, nil
}

func newHook(a *app) *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:   "hook [flags] AGENT [EVENT]",
		Short: "Decide one event of an agent's hook in this process (for --fallback-exec)",
		Long: `Hook reads the payload of an agent's hook on stdin, decides it in this process
with the policy and the chain that the daemon of the socket was last started
with, and writes the agent's own form of the answer. The hook client runs it
with --fallback-exec when the daemon gives no answer, and says by its variables
HOLDPOINT_HOOK_SOCKET, HOLDPOINT_HOOK_POLICY and HOLDPOINT_HOOK_BUDGET_MS which
socket, failure policy and time it had. When nothing can be decided the failure
policy does, without one a refusal where the event can be refused.

The exit code is the one that the agent expects.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("give AGENT and EVENT")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			event := ""
			if len(args) == 2 {
				event = args[1]
			}
			if socket == "" {
				socket = os.Getenv("HOLDPOINT_HOOK_SOCKET")
			}
			ctx := cmd.Context()
			if ms, err := strconv.ParseInt(os.Getenv("HOLDPOINT_HOOK_BUDGET_MS"), 10, 64); err == nil && ms > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond*9/10)
				defer cancel()
			}
			ans, err := a.hookOnce(ctx, socket, args[0], event)
			if err != nil {
				if os.Getenv("HOLDPOINT_HOOK_POLICY") == string(ahp.FailOpen) {
					ans = &hookwire.Answer{Status: hookwire.StatusAnswer}
				} else {
					ans = refusal(args[0], event)
				}
				// Agents show stderr to the model, and errors name paths: only a person
				// who runs this by hand gets to see them.
				if os.Getenv("HOLDPOINT_HOOK_POLICY") == "" {
					defer fmt.Fprintf(a.err, "\nholdpoint: %s\n", printable(err.Error()))
				}
			}
			return a.giveAnswer(ans)
		},
	}
	cmd.Flags().StringVar(&socket, "socket", "", "`path` of the daemon's hook socket (default: in your state folder)")
	return cmd
}

// refusal is what an agent gets when nothing could be decided: a refusal where
// its event can be refused, and nothing elsewhere, Stop above all.
func refusal(agent, event string) *hookwire.Answer {
	const reason = "Holdpoint could not decide on this operation, so it was refused."
	ans, ok := refuse.For(agent, event, reason)
	if !ok && event == "" {
		ans = refuse.Bare(reason)
	}
	return &hookwire.Answer{Status: hookwire.StatusAnswer, Stdout: ans.Stdout, Stderr: ans.Stderr, ExitCode: uint8(ans.ExitCode)}
}

func (a *app) giveAnswer(ans *hookwire.Answer) error {
	_, err := a.out.Write(ans.Stdout)
	_, err2 := a.err.Write(ans.Stderr)
	if err := errors.Join(err, err2); err != nil {
		return &exitError{exitUsage, nil} // 2 refuses where a refusal is possible
	}
	if ans.ExitCode != 0 {
		return &exitError{int(ans.ExitCode), nil}
	}
	return nil
}

func (a *app) hookOnce(ctx context.Context, socket, agent, event string) (*hookwire.Answer, error) {
	if !slices.Contains(gateway.Agents(), agent) {
		return nil, fmt.Errorf("agent %q is not one of %s", agent, strings.Join(gateway.Agents(), ", "))
	}
	in := a.stdin(ctx)
	defer in.Close()
	payload, err := io.ReadAll(io.LimitReader(in, hookwire.MaxPayloadBytes+1))
	if err != nil {
		return nil, errors.New("the payload could not be read")
	}
	if event == "" {
		event, _ = hookwire.EventName(payload)
	}
	if socket, err = socketPath(socket); err != nil {
		return nil, err
	}
	set, err := readSettings(socket)
	if err != nil {
		return nil, err
	}
	timeout, err := time.ParseDuration(set.PolicyTimeout)
	if err != nil {
		return nil, fmt.Errorf("%s: policyTimeout: %w", settingsFile, err)
	}
	reader := registrationReader{rewriteAllows: set.RewriteAllows, secrets: set.Secrets, warn: func(error) {}}
	hooks, revision, err := reader.readAll(set.Hooks)
	if err != nil {
		return nil, err
	}
	wd, err := os.Getwd()
	if err != nil {
		wd = ""
	}
	req := &hookwire.Request{Payload: payload, Header: hookwire.Header{
		Client: "holdpoint " + version(), Agent: agent, Event: event, CWD: wd, Env: map[string]string{}, ParentPID: os.Getppid(),
	}}
	for _, name := range hookwire.ProjectVariables(agent) {
		if v, ok := os.LookupEnv(name); ok {
			req.Header.Env[name] = v
		}
	}
	return gateway.Once(ctx, gateway.Options{
		Socket:         socket,
		Policy:         gateway.PolicySource{Dir: set.Policy, Home: gateway.UserHome(), Disk: true, Secrets: secretDetector, ProjectOverlays: set.ProjectOverlays},
		PolicyTimeout:  timeout,
		FailurePolicy:  ahp.FailurePolicy(set.FailurePolicy),
		Hooks:          hooks,
		Revision:       revision,
		RewriteAllows:  set.RewriteAllows,
		Secrets:        set.Secrets,
		OnAuditFailure: harness.RecordDeny,
		Oversize:       gateway.OversizeRefuse,
		Version:        version(),
	}, req)
}

// socketPath completes --socket.
func socketPath(path string) (string, error) {
	if path == "" {
		return hookwire.DefaultSocket()
	}
	return filepath.Abs(path)
}
