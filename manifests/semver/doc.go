// Package semver reads versions and version constraints, and says which
// versions a constraint allows.
//
// A [Version] is what Semantic Versioning 2.0.0 calls one, and nothing else. A
// [Range] is a constraint in the dialect of npm: comparators such as >=1.2.0,
// carets, tildes, x-ranges such as 1.2.x, hyphen ranges such as 1.2 - 1.4,
// joined by blanks (all must hold) and by || (one must). A version with a
// prerelease is allowed only by a constraint that names a prerelease of the same
// three numbers, unless [Range.WithPrereleases] asks for them all. A [Set] is
// the same as an exact set of versions, with the operations sets have.
//
// What npm reads only in its loose mode is refused here: blanks in a version,
// leading zeros, a prerelease without its hyphen. So are three things that its
// strict mode lets pass: a leading "v" on a version (not in a constraint, where it
// may stand), a number behind an x, as in ^1.x.3, and more than one sign in front
// of a version, as in ">==1.2" or "~ >1.2". What is accepted means what it means
// to npm. A refusal is an [*Error] that says what to write instead.
//
// The package knows no skill, no registry and no manifest: it does not know
// which versions exist, and chooses none.
package semver
