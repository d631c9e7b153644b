package facts

// hazards computes the hazards of everything else in f. It runs last, once per
// event. Files and addresses of all tools are in f.Files and f.URLs by then.
func hazards(f *Facts, o Options) []Hazard {
	_, _ = f, o
	return nil
}
