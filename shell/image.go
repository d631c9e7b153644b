package shell

import "strings"

// imageTool names the program that an image starts by itself, where the image is
// called after it (bitnami/kubectl, alpine/git), or "". Images of the library, which
// have no owner in their name, start what the command says.
func (m *machine) imageTool(image string) string {
	if strings.IndexByte(image, '/') < 0 || !clean(image) {
		return ""
	}
	name, _, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], "@")
	name, _, _ = strings.Cut(name, ":")
	switch name {
	case "aws-cli":
		return "aws"
	case "azure-cli":
		return "az"
	case "k8s-kubectl":
		return "kubectl"
	case "opentofu":
		return "tofu"
	case "terragrunt":
		return "terraform"
	}
	switch name {
	case "git", "terraform", "tofu", "kubectl", "helm", "curl", "vault", "packer", "consul", "nomad", "pulumi", "flyway", "liquibase", "rclone", "mc", "goreleaser", "psql", "redis-cli", "restic", "eksctl", "doctl", "flyctl", "argocd", "kustomize", "cosign", "crane", "skopeo", "ansible", "rsync", "socat", "nmap", "alembic", "sops", "twine":
		if handler(name) != nil || m.knows(name) {
			return name
		}
	}
	return ""
}

// image runs the words behind an image: as a command, or as arguments of the program
// that the image starts.
func (x *inv) image(image value, args []value, g *frame) value {
	m := x.f.m
	if len(args) > 0 && !m.commandLike(args[0].s) {
		if tool := m.imageTool(image.s); tool != "" {
			return x.inContainer(image.s, append([]value{lit(tool)}, args...), g)
		}
		if args[0].known() && strings.IndexByte(args[0].s, '/') < 0 && riskyTarget(args[0].s) {
			m.undecided(TargetOpaque, "an image: "+plain(args[0].s), true, x.cmd, x.span)
		}
	}
	return x.inContainer(image.s, args, g)
}
