package shell

import (
	"slices"
	"strings"
)

// hostEnv lists, for programs that take their peer from the environment, the
// variables that name it: a host, a host with a port, or a URL.
var hostEnv = map[string][]string{}

func init() {
	for _, e := range []struct{ programs, vars string }{
		{"psql pg_dump pg_dumpall pg_restore createdb dropdb createuser dropuser vacuumdb reindexdb pg_isready pgcli pgbench", "PGHOST PGHOSTADDR"},
		{"mysql mysqldump mysqladmin mariadb mariadb-dump mysqlimport mycli", "MYSQL_HOST"},
		{"redis-cli valkey-cli iredis", "REDIS_URL REDIS_HOST"},
		{"docker docker-compose podman buildah", "DOCKER_HOST CONTAINER_HOST"},
		{"kubectl oc helm k9s kustomize", "KUBERNETES_MASTER"},
		{"vault bao", "VAULT_ADDR"},
		{"consul", "CONSUL_HTTP_ADDR"},
		{"nomad", "NOMAD_ADDR"},
		{"etcdctl", "ETCDCTL_ENDPOINTS"},
		{"aws", "AWS_ENDPOINT_URL"},
		{"curl wget git pip pip3 npm", "http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy"},
		{"pip pip3 uv", "PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL"},
		{"npm pnpm yarn npx", "npm_config_registry NPM_CONFIG_REGISTRY"},
		{"go", "GOPROXY"},
		{"gh", "GH_HOST"},
	} {
		for p := range strings.FieldsSeq(e.programs) {
			hostEnv[p] = append(hostEnv[p], strings.Fields(e.vars)...)
		}
	}
}

// fileEnv lists variables that name a file which a program reads for itself.
var fileEnv = map[string][]string{
	"kubectl": {"KUBECONFIG"}, "oc": {"KUBECONFIG"}, "helm": {"KUBECONFIG"}, "k9s": {"KUBECONFIG"}, "psql": {"PGPASSFILE", "PGSERVICEFILE"},
	"aws": {"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"}, "gcloud": {"GOOGLE_APPLICATION_CREDENTIALS"}, "terraform": {"TF_CLI_CONFIG_FILE"}, "npm": {"NPM_CONFIG_USERCONFIG", "npm_config_userconfig"},
}

// envPeers records the peers and files that variables name, those in front of the
// command and those that the text exported. A URL of a service is its peer for
// any program, since that is what such a variable is for.
func (x *inv) envPeers() {
	f := x.f
	if len(x.env) == 0 && len(f.exported) == 0 {
		return
	}
	seen := func(name string, v value) {
		if v.s == "" || !clean(v.s) {
			return
		}
		if slices.Contains(fileEnv[x.name], name) {
			f.readFile(v, x.cmd, true)
			return
		}
		known := slices.Contains(hostEnv[x.name], name)
		if !known && !serviceURL(name, v.s) {
			return
		}
		for part := range strings.SplitSeq(v.s, ",") {
			if part == "" || part == "direct" || part == "off" || strings.HasPrefix(part, "/") || strings.HasPrefix(part, "unix:") || strings.HasPrefix(part, "npipe:") {
				continue // a socket on this machine
			}
			a := Action{Kind: NetConnect, Host: hostOf(part), Span: x.span, Command: x.cmd + 1}
			if strings.Contains(part, "://") {
				a.URL = part
			}
			f.emit(a)
		}
	}
	for i := range x.env {
		if !x.env[i].Value.Known {
			continue
		}
		seen(x.env[i].Name, value{s: x.env[i].Value.Value, span: x.span})
	}
	names := make([]string, 0, len(f.exported))
	for name := range f.exported {
		if !slices.ContainsFunc(x.env, func(a Assignment) bool { return a.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if v, ok := f.vars[name]; ok && !v.unset {
			one := v.v
			one.span = x.span
			seen(name, one)
		}
	}
}

// serviceURL reports a variable that holds the address of a service.
func serviceURL(name, v string) bool {
	if !strings.Contains(v, "://") {
		return false
	}
	scheme, _, _ := strings.Cut(v, "://")
	switch scheme {
	case "postgres", "postgresql", "mysql", "mariadb", "redis", "rediss", "mongodb", "mongodb+srv", "amqp", "amqps", "kafka", "nats", "mssql", "sqlserver", "clickhouse", "cassandra", "neo4j", "ldap", "ldaps":
		return true
	case "http", "https", "ssh", "tcp":
	default:
		return false
	}
	switch name {
	case "DATABASE_URL", "REDIS_URL", "MONGO_URL", "MONGODB_URI", "ELASTICSEARCH_URL", "DOCKER_HOST", "VAULT_ADDR", "RABBITMQ_URL", "AMQP_URL":
		return true
	}
	return false
}

// namesProduction reports whether a command says that it works on what others use.
func (x *inv) namesProduction() bool {
	prod := func(s string) bool {
		s = strings.ToLower(s)
		return strings.Contains(s, "prod") || strings.Contains(s, "://live") || s == "live"
	}
	for _, a := range x.args[1:] {
		if prod(a.s) {
			return true
		}
	}
	for i := range x.env {
		if prod(x.env[i].Value.Value) {
			return true
		}
	}
	for name := range x.f.exported {
		if v, ok := x.f.vars[name]; ok && prod(v.v.s) {
			return true
		}
	}
	return false
}
