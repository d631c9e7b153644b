package policy

// DefaultPack is the name of the pack that covers the hazard taxonomy.
const DefaultPack = "default"

// A Pack is a policy that is part of the program.
type Pack struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Rules       []PackRule `json:"rules"`
}

// A PackRule is one rule of a pack, as a listing shows it.
type PackRule struct {
	Name     string   `json:"name"`
	Effect   Effect   `json:"effect"`
	Severity Severity `json:"severity"`
	Reason   string   `json:"reason"`
	Enabled  bool     `json:"enabled"`
}

// Packs lists the packs that are part of the program.
func Packs() []Pack { return nil }
