package agenthooks_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// TestPointersAreNotFollowed is AH-5.3-1 and AH-14-2: the evidence reaches the
// record as it was, and the server that it points at hears nothing.
func TestPointersAreNotFollowed(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer srv.Close()
	v := agenthooks.Deny("policy:no", "")
	v.Evidence = &agenthooks.Evidence{Artefact: srv.URL, VerificationPointers: map[string]string{"log": srv.URL}}
	h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{fixed(agenthooks.Output, v)}})
	if _, err := s.Emit(t.Context(), agenthooks.Final("x")); err == nil {
		t.Fatal("not blocked")
	}
	if err := h.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	recs := h.Records()
	if e := recs[len(recs)-1].Verdict.Evidence; e == nil || e.Artefact != srv.URL || e.VerificationPointers["log"] != srv.URL {
		t.Errorf("evidence %+v", e)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the pointer was followed %d times", n)
	}
}

// TestRules runs tests under the ids of the rules that they hold, for the table
// that is made from the names of tests. Rules that a vector can say are under
// the same name in package ctk, and the rest of the loop's in package loop.
func TestRules(t *testing.T) {
	rules := map[string][]func(*testing.T){
		"AH-1.3-1":   {TestIdentityIgnoresOptional},
		"AH-1.3-2":   {TestEnvelopeGate, TestNotAContext},
		"AH-1.3-3":   {TestFailureSlots},
		"AH-3-1":     {TestEnvelopeGate, TestOrder},
		"AH-3.1-1":   {TestOrder, TestSecondStartup},
		"AH-3.1-5":   {TestConcurrentEmissions},
		"AH-3.1-6":   {TestMultiTurn},
		"AH-4-1":     {TestEnvelopeGate},
		"AH-4.2-0":   {TestGateLetsPass, TestContextsMatchTheSchemas},
		"AH-4.2-1":   {TestEnvelopeGate, TestContextsMatchTheSchemas},
		"AH-4.3-1":   {TestWriteBack},
		"AH-4.3-2":   {TestWriteBack},
		"AH-4.3-3":   {TestWriteBack},
		"AH-4.3-4":   {TestGateLetsPass, TestContextsMatchTheSchemas},
		"AH-4.4-1":   {TestIdentityDomain, TestUnrepresentableValues, TestBigIntegerOutsideTheProjection},
		"AH-4.4-3":   {TestNullProviderKeepsBigIntegers},
		"AH-4.4-4":   {TestUnrepresentableValues},
		"AH-4.6-1":   {TestExtensions},
		"AH-4.7-1":   {TestEnvelopeGate},
		"AH-4.7-2":   {TestEnvelopeGate, TestGateLetsPass},
		"AH-4.7-3":   {TestEnvelopeGate},
		"AH-5-1":     {TestVerdictGate, TestVerdictsMatchTheSchema},
		"AH-5-2":     {TestVerdictGate},
		"AH-5-3":     {TestVerdictGate},
		"AH-5-4":     {TestVerdictGate},
		"AH-5-5":     {TestTypedVerdictGate},
		"AH-5.1-1":   {TestTypedVerdictGate},
		"AH-5.1-3":   {TestSeverityProperty},
		"AH-5.1-4":   {TestVerdictGate},
		"AH-5.2-1":   {TestPaths, TestCheckPath},
		"AH-5.2-2":   {TestPaths},
		"AH-5.2-3":   {TestPaths},
		"AH-5.2-4":   {TestPaths},
		"AH-5.2-5":   {TestPaths},
		"AH-5.2-6":   {TestPaths},
		"AH-5.2-7":   {TestPaths},
		"AH-5.2-8":   {TestWriteBack},
		"AH-5.3-1":   {TestRecordsArePayloadFree},
		"AH-5.3-2":   {TestVerdictGate},
		"AH-5.4-1":   {TestLabels},
		"AH-5.4-2":   {TestLabels},
		"AH-5.4-3":   {TestLabels, TestLabelsOfResolution},
		"AH-6.1a-1":  {TestOrder},
		"AH-6.1a-2":  {TestNoConsultation},
		"AH-6.3-1":   {TestFailureSlots, TestVerdictGate},
		"AH-6.3-2":   {TestEnvelopeGate, TestUnrepresentableValues},
		"AH-6.3-3":   {TestFailureSlots, TestSeamFailures, TestFailingProvider},
		"AH-6.3-4":   {TestVerdictGate, TestFailureSlots},
		"AH-6.3-5":   {TestFailureNeverOpens},
		"AH-7-1":     {TestIsolation},
		"AH-7-2":     {TestZeroInterceptors},
		"AH-7-3":     {TestTimeout, TestNoTimeout},
		"AH-7.1-1":   {TestConfiguration},
		"AH-7.2-1":   {TestConfiguration},
		"AH-7.2-2":   {TestCompletionOrder, TestParallelIsConcurrent},
		"AH-7.2-3":   {TestConfiguration},
		"AH-7.3-1":   {TestSeverityProperty, TestFoldLaws},
		"AH-8-1":     {TestModes},
		"AH-8-2":     {TestModes},
		"AH-8-3":     {TestModes},
		"AH-9-1":     {TestNoConsultation},
		"AH-9-2":     {TestRedaction},
		"AH-9-3":     {TestSeamFailures},
		"AH-9-4":     {TestSeamFailures},
		"AH-9-5":     {TestResolutionOrder, TestResolutionAsText},
		"AH-9-6":     {TestResolutionOrder},
		"AH-9-8":     {TestResolutionOrder},
		"AH-9-9":     {TestRedaction},
		"AH-9-11":    {TestResolverCannotReachIn},
		"AH-9-12":    {TestResolutionOrder},
		"AH-9-13":    {TestRedaction},
		"AH-10.1-1":  {TestProviderConfiguration, TestHMACIdentity},
		"AH-10.1-2":  {TestFailingProvider},
		"AH-10.1-4":  {TestSecondProviderCall},
		"AH-10.2-1":  {TestIdentityIgnoresOptional, TestGoldenIdentities},
		"AH-10.2-2":  {TestGoldenIdentities},
		"AH-10.2-3":  {TestGoldenIdentities},
		"AH-10.2-4":  {TestIdentityDomain},
		"AH-10.2-5":  {TestIdentityDomain},
		"AH-10.2-6":  {TestIdentityDomain},
		"AH-10.2-7":  {TestBigIntegerOutsideTheProjection},
		"AH-10.2-8":  {TestIdentityDomain, TestNullProviderKeepsBigIntegers},
		"AH-10.2-9":  {TestIdentityDomain, TestNotAContext},
		"AH-10.3-1":  {TestRecordsArePayloadFree},
		"AH-10.3-2":  {TestRecordsArePayloadFree},
		"AH-10.3-3":  {TestTruncation},
		"AH-10.3-5":  {TestSecondProviderCall},
		"AH-10.3-6":  {TestSecondProviderCall, TestBuilderIdentity},
		"AH-10.3-7":  {TestRecordHostFailure},
		"AH-10.3-8":  {TestDelivery},
		"AH-10.3-9":  {TestRecordsArePayloadFree},
		"AH-10.3-10": {TestNotAContext},
		"AH-11-1":    {TestVerdictGate},
		"AH-11-2":    {TestVerdictGate},
		"AH-14-2":    {TestPointersAreNotFollowed},
		"AH-12.1-1":  {TestBuffered},
		"AH-12.1-2":  {TestBufferedFailure},
		"AH-12.1-4":  {TestIncremental, TestIncrementalDeny},
		"AH-12.1-5":  {TestResidue},
		"AH-12.1-6":  {TestSegmentTransform},
		"AH-12.2-3":  {TestConcurrentEmissions},
		"AH-12.2-4":  {TestParallelIsConcurrent},
		"AH-12.3-1":  {TestDepthBound, TestSizeBound},
		"AH-12.3-2":  {TestDepthBound},
	}
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		t.Run(id, func(t *testing.T) {
			for _, test := range rules[id] {
				test(t)
			}
		})
	}
}
