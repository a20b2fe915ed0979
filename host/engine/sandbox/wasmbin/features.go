package wasmbin

// Feature is a WebAssembly proposal by the name of its repository, which is
// also the name wazero's api.CoreFeatures.String uses.
type Feature string

// The proposals a module may use. All but the last three are part of core
// specification 2.0.
const (
	MutableGlobal       Feature = "mutable-global"
	SignExtensionOps    Feature = "sign-extension-ops"
	MultiValue          Feature = "multi-value"
	NonTrappingFloatInt Feature = "nontrapping-float-to-int-conversion"
	BulkMemory          Feature = "bulk-memory-operations"
	ReferenceTypes      Feature = "reference-types"
	SIMD                Feature = "simd"
	TailCall            Feature = "tail-call"
	ExtendedConst       Feature = "extended-const"
	// ExceptionHandling is of the gate alone: no compiler sees it, because
	// exceptions are written as branches. See the package comment.
	ExceptionHandling Feature = "exception-handling"
)

// Features returns every proposal that Inspect accepts but for
// ExceptionHandling. Whoever compiles an instrumented module enables exactly
// these. Refused by name in the error are threads, the exceptions of the
// proposal before exception-handling, typed-function-references, gc, memory64,
// multi-memory, custom-page-sizes, relaxed-simd and the component model.
func Features() []Feature {
	return []Feature{
		MutableGlobal, SignExtensionOps, MultiValue, NonTrappingFloatInt,
		BulkMemory, ReferenceTypes, SIMD, TailCall, ExtendedConst,
	}
}
