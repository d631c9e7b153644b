package shell

import "strings"

// splitCamel puts a dash in front of each capital that follows a small letter or a
// digit: deployProd is two words.
func splitCamel(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; i > 0 && c >= 'A' && c <= 'Z' && (s[i-1] >= 'a' && s[i-1] <= 'z' || s[i-1] >= '0' && s[i-1] <= '9') {
			if b.Len() == 0 {
				b.WriteString(s[:i])
			}
			b.WriteByte('-')
			b.WriteByte(c)
		} else if b.Len() > 0 {
			b.WriteByte(c)
		}
	}
	if b.Len() == 0 {
		return s
	}
	return b.String()
}

// riskyTarget reports whether a target's name promises deletion, deployment,
// release or a change of data: what such a target does is not in the text.
func riskyTarget(name string) bool {
	camel := splitCamel(name)
	if camel != name {
		// Builds of one variant: assembleRelease, compileProdJava.
		switch first, _, _ := strings.Cut(camel, "-"); first {
		case "assemble", "bundle", "compile", "lint", "test", "package", "process", "generate", "check", "build", "install", "connected":
			return false
		}
		if strings.HasSuffix(camel, "-Local") {
			return false // publishToMavenLocal and its kin stay on this machine
		}
	}
	words := strings.FieldsFunc(strings.ToLower(camel), func(r rune) bool {
		return r == ':' || r == '-' || r == '_' || r == '.' || r == '/' || r == ' '
	})
	if n := len(words); n > 0 {
		switch words[n-1] {
		case "status", "list", "version", "check", "diff", "show", "plan", "validate", "info", "lint", "help", "test", "tests", "types", "dry", "generate", "codegen", "typecheck":
			return false
		}
	}
	for _, w := range words {
		switch w {
		case "deploy", "deployment", "release", "publish", "clean", "cleanup", "purge", "nuke", "wipe", "destroy", "drop", "reset", "delete", "remove", "rm", "prune", "teardown", "uninstall", "migrate", "migration", "migrations", "seed", "rollback", "undeploy", "ship", "promote", "provision", "down", "distclean", "mrproper", "clobber", "truncate", "flush", "erase", "upload", "push", "apply", "production", "prod", "rollout", "cutover", "backfill", "import", "restore", "kill", "hotfix", "sync", "fresh", "realclean", "veryclean", "prepublish", "db", "database", "undo", "destroyall", "infra", "terraform", "delivery", "go-live", "postdeploy", "predeploy", "recreate", "rebuild-db", "stop", "shutdown", "clear", "danger", "reseed", "deprovision", "decommission", "sanitize", "scrub", "obliterate", "zap", "trash":
			return true
		}
	}
	return false
}
