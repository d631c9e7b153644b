package policy

// A Rule is one loaded rule, with every override applied.
type Rule struct {
	Name     string   `json:"name"`
	When     string   `json:"when"`
	Effect   Effect   `json:"effect"`
	Mode     Mode     `json:"mode"`
	Enabled  bool     `json:"enabled"`
	Reason   string   `json:"reason"`
	Hint     string   `json:"hint,omitempty"`
	Code     string   `json:"code,omitempty"`
	Severity Severity `json:"severity"`
	Allow    Allow    `json:"allow,omitzero"`
	Origin   Origin   `json:"origin"`
}

// Origin says where a rule was written.
type Origin struct {
	Layer  string `json:"layer"` // pack:NAME, user or project
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Allow lists what a rule does not see, so that it stays on for everything
// else.
type Allow struct {
	Paths    []string `json:"paths,omitempty"`    // path patterns
	Hosts    []string `json:"hosts,omitempty"`    // host patterns
	Commands []string `json:"commands,omitempty"` // command shapes
}
