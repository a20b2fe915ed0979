// Package resolve chooses versions: of everything a person asked for, of
// everything that needs, and so on, such that all constraints hold. It is
// complete: when there is a choice it finds one, and when there is none its
// [*Conflict] proves it in sentences a person can read.
//
// The rules:
//   - A closure has one version of each skill. What a person asks for shares a
//     closure; a dependency that is isolated has one of its own, shared with
//     every other isolated dependency on the same name with the same constraint.
//   - A name that no skill has is an interface. A dependency on it is satisfied
//     by a skill that provides a version of the interface within the constraint,
//     and a closure has one provider of each interface. A skill's own name always
//     means that skill: nobody can take it over by providing it.
//   - The version that is preferred (the locked one) comes first, then the newest.
//     For an interface, a provider that was chosen anyway comes before others.
//     Names are decided breadth first from the roots, in alphabetical order, and
//     the answer is the first in that order: the one that trying everything would
//     find first. Equal questions have equal answers.
//   - A prerelease is chosen only where a constraint names one, or asks for them.
//   - An optional dependency comes last. It is satisfied when that is possible
//     without changing what was chosen, and otherwise left out; a version that is
//     there for another reason must satisfy it.
//
// The algorithm is PubGrub (github.com/dart-lang/pub, doc/solver.md): unit
// propagation over incompatibilities, and conflicts from which new ones are
// learned. Here a term is a set of a name's published versions and "absent",
// kept as bits, which makes prereleases and interfaces nothing special.
//
// The package fetches nothing itself and knows no registry: a [Source] answers.
// It changes nothing, and does not know what is installed.
package resolve
