package gateway

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the figures that /metrics serves, in a registry of their own: the
// names here are the whole list.
type metrics struct {
	reg *prometheus.Registry

	decisions     *prometheus.CounterVec // agent, decision
	denials       *prometheus.CounterVec // agent, kind: explicit, synthetic
	failedOpen    *prometheus.CounterVec // agent
	fallbacks     *prometheus.CounterVec // agent, decision: what hook clients decided by themselves
	seconds       *prometheus.HistogramVec
	events        *prometheus.CounterVec // agent, handling: decided, observed, ignored, unknown
	frames        *prometheus.CounterVec // result
	rejected      *prometheus.CounterVec // code
	refusedPeers  prometheus.Counter
	auditFailures prometheus.Counter
	auditPending  prometheus.Gauge
	reloads       *prometheus.CounterVec // result
	policyBroken  prometheus.Gauge
	policyExposed prometheus.Gauge
	connections   prometheus.Gauge
	sessions      prometheus.Gauge
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdpoint_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "holdpoint_" + name, Help: help})
	}
	m := &metrics{
		reg:        prometheus.NewRegistry(),
		decisions:  counter("decisions_total", "Operations settled, by outcome.", "agent", "decision"),
		denials:    counter("denials_total", "Operations denied: by a rule or backend (explicit), or because none could be asked (synthetic).", "agent", "kind"),
		failedOpen: counter("failed_open_total", "Operations that went on although a control gave no answer, because its failure policy is fail-open.", "agent"),
		fallbacks:  counter("fallbacks_total", "Decisions that a hook client took by itself because no answer came in time.", "agent", "decision"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "holdpoint_decision_seconds", Help: "Time from the first byte of a hook's frame to its answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"agent"}),
		events:        counter("hook_events_total", "Hook events by what was done with them.", "agent", "handling"),
		frames:        counter("hook_frames_total", "Frames on the hook socket by result.", "result"),
		rejected:      counter("ahp_rejected_total", "Messages to the AHP endpoint that the policy was not asked about, by the code of their error.", "code"),
		refusedPeers:  prometheus.NewCounter(prometheus.CounterOpts{Name: "holdpoint_refused_peers_total", Help: "Connections of other users."}),
		auditFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "holdpoint_audit_failures_total", Help: "Audit entries that could not be written."}),
		auditPending:  gauge("audit_unwritten", "1 while the last audit entry could not be written."),
		reloads:       counter("policy_reloads_total", "Policy loads by result.", "result"),
		policyBroken:  gauge("policy_broken", "1 while the policy files on disk are broken and the last good policy is in force."),
		policyExposed: gauge("policy_in_workspace", "1 once an agent has worked where the policy folder lies."),
		connections:   gauge("hook_connections", "Open connections on the hook socket."),
		sessions:      gauge("sessions", "Agent sessions that are remembered."),
	}
	m.reg.MustRegister(m.decisions, m.denials, m.failedOpen, m.fallbacks, m.seconds, m.events, m.frames, m.rejected,
		m.refusedPeers, m.auditFailures, m.auditPending, m.reloads, m.policyBroken, m.policyExposed, m.connections, m.sessions)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.reg, promhttp.HandlerOpts{Timeout: 5 * time.Second, MaxRequestsInFlight: 4})
}
