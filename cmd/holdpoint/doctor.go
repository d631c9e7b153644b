package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// A checkStatus says how a check came out.
type checkStatus string

const (
	checkOK   checkStatus = "ok"
	checkWarn checkStatus = "warn" // works, but not as one may think
	checkFail checkStatus = "fail" // the gate is open, shut or unreachable
)

// A doctorCheck is one line of doctor.
type doctorCheck struct {
	Name   string      `json:"name"`
	Agent  string      `json:"agent,omitempty"`
	Status checkStatus `json:"status"`
	Detail string      `json:"detail"`
	Hint   string      `json:"hint,omitempty"`
}

// A doctorReport is the --json output of doctor;
// docs/schemas/doctor.schema.json describes it.
type doctorReport struct {
	OK     bool          `json:"ok"` // no check failed
	Socket string        `json:"socket"`
	Checks []doctorCheck `json:"checks"`
}

// A doctor holds what its checks share.
type doctor struct {
	socket, ahpSocket string
	cwd               string
	named             bool // the agent was named, so that it must be set up
	uid               int
	report            doctorReport

	listening bool   // somebody answered at the socket, and may be trusted
	clientBin string // the hook client on PATH; may be empty
}

const probeTimeout = 3 * time.Second

func (d *doctor) add(s checkStatus, name, agent, detail, hint string) {
	d.report.Checks = append(d.report.Checks, doctorCheck{name, agent, s, printable(detail), printable(hint)})
	d.report.OK = d.report.OK && s != checkFail
}

func newDoctor(a *app) *cobra.Command {
	var (
		d             doctor
		agent, policy string
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the gateway, the hook client and the agents' configuration",
		Long: `Doctor looks at the socket and who listens there, compares versions, reads the
agents' settings files, and says what an agent would do while the gateway is up,
down or hung. For that it runs the hook client with a harmless payload: against
the socket (which leaves a record of the session holdpoint-doctor), against a
path without a socket, and against a socket that never answers, both in a private
temporary folder. It runs no command that a settings file holds, and no client
that a project names.

Without --agent every agent is looked at, and one that is not set up is a
warning; with --agent it is a failure.

Exit codes: 0 no check failed (there may be warnings), 1 one failed, 2 wrong
usage.`,
		Args: noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			agents := gateway.Agents()
			if agent != "" {
				if err := oneOf("agent", agent, agents...); err != nil {
					return err
				}
				agents, d.named = []string{agent}, true
			}
			if err := oneOf("failure-policy", ahp.FailurePolicy(policy), ahp.FailOpen, ahp.FailClosed); err != nil {
				return err
			}
			var err error
			if d.socket, err = socketPath(d.socket); err != nil {
				return err
			}
			if d.ahpSocket == "" {
				d.ahpSocket = filepath.Join(filepath.Dir(d.socket), "ahp.sock")
			}
			if d.cwd == "" {
				if d.cwd, err = os.Getwd(); err != nil {
					return err
				}
			}
			d.uid = os.Geteuid()
			d.report = doctorReport{OK: true, Socket: d.socket, Checks: []doctorCheck{}}
			d.checkDaemon(cmd.Context())
			d.checkClient(cmd.Context())
			for _, name := range agents {
				d.checkAgent(cmd.Context(), name, policy)
			}
			if asJSON {
				err = a.json(&d.report)
			} else {
				err = a.printDoctor(&d.report)
			}
			if err == nil && !d.report.OK {
				err = errSaid(exitFailed)
			}
			return err
		}),
	}
	f := cmd.Flags()
	f.StringVar(&agent, "agent", "", "look at this `agent` only: claude-code, codex")
	f.StringVar(&d.socket, "socket", "", "`path` of the hook socket (default: in your state folder)")
	f.StringVar(&d.ahpSocket, "ahp-socket", "", "`path` of the AHP socket (default: ahp.sock beside the hook socket)")
	f.StringVar(&d.cwd, "cwd", "", "project `folder` whose settings count too (default: the current one)")
	f.StringVar(&policy, "failure-policy", string(ahp.FailClosed), "policy of a hook that is not installed yet: fail-open, fail-closed")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// checkDaemon looks at the socket from its folder to the process behind it.
func (d *doctor) checkDaemon(ctx context.Context) {
	const startIt = "start it: holdpoint serve --policy-timeout 2s --failure-policy fail-closed"
	if !hookwire.KnowsPeers {
		d.add(checkFail, "system", "", platform+" does not tell whose process is behind a socket: hook clients decide alone, by their failure policy", "agents are guarded on Linux and macOS")
		return
	}
	if len(d.socket) > hookwire.MaxSocketPathBytes {
		d.add(checkFail, "socket", "", fmt.Sprintf("the path has %d bytes, and at most %d work everywhere", len(d.socket), hookwire.MaxSocketPathBytes), "name a shorter one with --socket, here and in the hooks")
		return
	}
	dir := filepath.Dir(d.socket)
	fi, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add(checkFail, "folder", "", dir+" is not there: no gateway ever ran with this socket", startIt)
		return
	case err != nil:
		d.add(checkFail, "folder", "", dir+": "+withoutName(err).Error(), "")
		return
	case fi.Mode()&fs.ModeSymlink != 0:
		d.add(checkFail, "folder", "", dir+" is a symbolic link, which could be turned elsewhere", "name the folder itself")
		return
	}
	if !d.owned("folder", dir, fi, 0o077, "0700") {
		return
	}
	if err := hookwire.CheckDir(d.socket, d.uid); err != nil {
		d.add(checkFail, "folder", "", dir+": a folder above it can be changed by another user, so clients will not use it", "keep the socket below your home folder")
		return
	}
	d.add(checkOK, "folder", "", fmt.Sprintf("%s is yours alone (mode %04o)", dir, fi.Mode().Perm()), "")

	fi, err = os.Lstat(d.socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add(checkFail, "gateway", "", "there is no socket at "+d.socket+": no gateway runs", startIt)
		return
	case err != nil:
		d.add(checkFail, "gateway", "", d.socket+": "+withoutName(err).Error(), "")
		return
	case fi.Mode()&fs.ModeSymlink != 0:
		d.add(checkFail, "socket", "", d.socket+" is a symbolic link, which clients do not follow", "remove it and start the gateway again")
		return
	case fi.Mode()&fs.ModeSocket == 0:
		d.add(checkFail, "socket", "", d.socket+" is no socket", "remove it and start the gateway again")
		return
	}
	if !d.owned("socket", d.socket, fi, 0o022, "0600") {
		return
	}
	if err := hookwire.CheckSocket(d.socket, d.uid); err != nil {
		d.add(checkFail, "socket", "", err.Error(), "")
		return
	}
	d.add(checkOK, "socket", "", fmt.Sprintf("%s is yours (mode %04o), no link on the way", d.socket, fi.Mode().Perm()), "")
	d.checkPeer(ctx, startIt)
}

// owned checks the owner and the mode of a file of the gateway.
func (d *doctor) owned(name, path string, fi fs.FileInfo, forbidden fs.FileMode, want string) bool {
	if uid := ownerOf(fi); uid >= 0 && uid != d.uid {
		d.add(checkFail, name, "", fmt.Sprintf("%s belongs to user %d, and you are user %d", path, uid, d.uid), "clients use a socket of their own user only")
		return false
	}
	if perm := fi.Mode().Perm(); perm&forbidden != 0 {
		d.add(checkFail, name, "", fmt.Sprintf("%s has mode %04o, expected %s", path, perm, want), fmt.Sprintf("chmod %s %s, after a look at who put what there", want, path))
		return false
	}
	return true
}

// checkPeer connects, and learns who listens and which frame he speaks.
func (d *doctor) checkPeer(ctx context.Context, startIt string) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
	if err != nil {
		d.add(checkFail, "gateway", "", "nobody listens: the gateway ended without removing its socket", startIt)
		return
	}
	defer c.Close()
	uid, err := peerOf(c)
	switch {
	case err != nil:
		d.add(checkFail, "gateway", "", "who listens is not known: "+err.Error(), "")
		return
	case uid != d.uid:
		d.add(checkFail, "gateway", "", fmt.Sprintf("user %d listens, and you are user %d", uid, d.uid), "clients will not talk to it")
		return
	}
	answer, err := probe(ctx, c)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		d.add(checkFail, "gateway", "", fmt.Sprintf("a process of yours listens and gave no answer in %s: it hangs", probeTimeout), "look at its log, and restart it")
		return
	case err != nil:
		if v, ok := errors.AsType[*hookwire.VersionError](err); ok {
			d.add(checkFail, "frame", "", fmt.Sprintf("the gateway speaks another frame than this program (%s)", v), "install gateway and client of one release, and restart the gateway")
			return
		}
		d.add(checkFail, "gateway", "", "what listens is no gateway: "+err.Error(), "find out what it is")
		return
	}
	d.listening = true
	d.add(checkOK, "gateway", "", "a process of yours listens and answers", "")
	switch diff := int(answer.Server) - hookwire.Version; {
	case answer.Status == hookwire.StatusVersion || diff < -1 || diff > 1:
		d.add(checkFail, "frame", "", fmt.Sprintf("the gateway speaks frame version %d, this program %d", answer.Server, hookwire.Version), "install gateway and client of one release, and restart the gateway")
	case diff != 0:
		d.add(checkWarn, "frame", "", fmt.Sprintf("the gateway speaks frame version %d, this program %d: they understand each other", answer.Server, hookwire.Version), "restart the gateway with the newer release")
	default:
		d.add(checkOK, "frame", "", fmt.Sprintf("version %d on both sides", hookwire.Version), "")
	}
	d.checkHealth(ctx)
}

// probe asks about an event that is never decided and leaves no record.
func probe(ctx context.Context, c net.Conn) (*hookwire.Answer, error) {
	if t, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(t); err != nil {
			return nil, err
		}
	}
	frame, err := hookwire.AppendRequest(nil, &hookwire.Request{
		Header:  hookwire.Header{Client: "holdpoint-doctor " + version(), Agent: hookwire.AgentClaudeCode, Event: "Stop", BudgetMs: probeTimeout.Milliseconds()},
		Payload: []byte(`{"hook_event_name":"Stop","session_id":"holdpoint-doctor","cwd":"/","stop_hook_active":false}`),
	})
	if err != nil {
		return nil, err
	}
	_, sendErr := c.Write(frame)
	// Whoever refuses a frame may answer and hang up before he has read it.
	answer, err := hookwire.ReadAnswer(c)
	if err != nil && sendErr != nil {
		if _, ok := errors.AsType[*hookwire.VersionError](err); !ok {
			err = sendErr
		}
	}
	return answer, err
}

func peerOf(c net.Conn) (int, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return -1, errors.New("no unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return -1, err
	}
	uid, inner := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, inner = hookwire.PeerUID(fd) }); err != nil {
		return -1, err
	}
	return uid, inner
}

// checkHealth asks the AHP socket for the version and the state of the gateway.
func (d *doctor) checkHealth(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", d.ahpSocket)
		},
	}}
	ask := func(path string, v any) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if err != nil {
			return err
		}
		return json.Unmarshal(b, v)
	}
	if err := hookwire.CheckSocket(d.ahpSocket, d.uid); err != nil {
		d.add(checkWarn, "version", "", "not known: the AHP socket "+d.ahpSocket+" cannot be used", "name it with --ahp-socket")
		return
	}
	var health struct {
		Version string `json:"version"`
	}
	if err := ask("/healthz", &health); err != nil {
		d.add(checkWarn, "version", "", "not known: the gateway does not answer at "+d.ahpSocket, "")
		return
	}
	if health.Version != version() {
		d.add(checkWarn, "version", "", fmt.Sprintf("the gateway is %s, this program is %s", health.Version, version()), "restart the gateway with this release")
	} else {
		d.add(checkOK, "version", "", "the gateway is "+health.Version+", as this program", "")
	}
	var ready gateway.Readiness
	if err := ask("/readyz", &ready); err != nil {
		d.add(checkWarn, "ready", "", "the gateway does not say whether it is ready", "")
		return
	}
	switch {
	case ready.AuditBroken && ready.OnAuditFailure == "deny":
		d.add(checkFail, "ready", "", "the audit log cannot be written, so every operation is refused", "look at the gateway's log; is the disk full?")
	case ready.AuditBroken:
		d.add(checkFail, "ready", "", "the audit log cannot be written: operations go on without a record", "look at the gateway's log; is the disk full?")
	case !ready.Ready:
		d.add(checkFail, "ready", "", "the gateway makes no decisions now: it starts or stops", "")
	case ready.PolicyBroken:
		d.add(checkWarn, "ready", "", fmt.Sprintf("the policy on disk has %s: the one before stays in force", plural(ready.PolicyProblems, "problem")), "holdpoint lint FOLDER says which")
	default:
		d.add(checkOK, "ready", "", "policy "+ready.Policy, "")
	}
}

func (a *app) printDoctor(r *doctorReport) error {
	var p page
	counts := map[checkStatus]int{}
	for _, c := range r.Checks {
		counts[c.Status]++
		st := map[checkStatus]style{checkOK: green, checkWarn: yellow, checkFail: red}[c.Status]
		name := c.Name
		if c.Agent != "" {
			name = c.Agent + " " + name
		}
		p.line("%s  %-22s %s", a.paint(st, fmt.Sprintf("%-4s", c.Status)), name, c.Detail)
		if c.Hint != "" && c.Status != checkOK {
			p.line("      %-22s hint: %s", "", c.Hint)
		}
	}
	p.line("%d ok, %s, %d failed", counts[checkOK], plural(counts[checkWarn], "warning"), counts[checkFail])
	return a.emit(&p)
}

// refusalOf tells what an agent makes of a hook's output at PreToolUse.
func refusalOf(stdout []byte, code int) (refused, clear bool) {
	denies := strings.Contains(string(stdout), `"permissionDecision": "deny"`) || strings.Contains(string(stdout), `"permissionDecision":"deny"`)
	switch {
	case code == 2:
		return true, true
	case code == 0 && denies:
		return true, true
	case code == 0 && len(stdout) == 0:
		return false, true
	}
	return false, false
}

// refusable reports whether a hook of agent at event decides anything.
func refusable(agent, event string) bool {
	return slices.Contains(gateway.Agents(), agent) && refuse.Refusable(agent, event)
}
