package shell_test

import (
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/shell"
)

// Peers that programs take from the environment are peers like any other.
func TestPeersFromTheEnvironment(t *testing.T) {
	for text, want := range map[string][]string{
		"PGHOST=prod.db.example.com psql -c 'select 1'":                         {"prod.db.example.com"},
		"export PGHOST=prod.db.example.com; pg_dump app":                        {"prod.db.example.com"},
		"env PGHOST=prod.db.example.com psql":                                   {"prod.db.example.com"},
		"DATABASE_URL=postgres://u@prod.db.example.com/app npm run report":      {"prod.db.example.com"},
		"REDIS_URL=redis://cache.example.com:6379 redis-cli ping":               {"cache.example.com"},
		"DOCKER_HOST=tcp://build.example.com:2375 docker ps":                    {"build.example.com"},
		"DOCKER_HOST=unix:///run/docker.sock docker ps":                         nil,
		"PGHOST=/var/run/postgresql psql":                                       nil,
		"HOST=0.0.0.0 npm start":                                                nil,
		"HTTPS_PROXY=http://proxy.example.com:3128 curl https://a.example.com/": {"a.example.com", "proxy.example.com"},
		"PGHOST=prod.db.example.com ls":                                         nil,
		"MYSQL_HOST=$H mysql -e 'select 1'":                                     nil,
		"VAULT_ADDR=https://vault.example.com vault status":                     {"vault.example.com"},
	} {
		var got []string
		r := analyze(t, text)
		for i := range r.Actions {
			if a := &r.Actions[i]; (a.Kind == shell.NetConnect || a.Kind == shell.NetFetch) && a.Host != "" {
				got = append(got, a.Host)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for text, file := range map[string]string{
		"KUBECONFIG=~/.kube/prod kubectl get pods":                           "/home/dev/.kube/prod",
		"export KUBECONFIG=/etc/kube.conf\nhelm ls":                          "/etc/kube.conf",
		"AWS_SHARED_CREDENTIALS_FILE=/srv/creds aws sts get-caller-identity": "/srv/creds",
	} {
		r := analyze(t, text)
		if !slices.ContainsFunc(r.Actions, func(a shell.Action) bool { return a.Kind == shell.FileRead && a.Path.Abs == file && a.Quiet }) {
			t.Errorf("%s: %q", text, actions(r))
		}
	}
}
