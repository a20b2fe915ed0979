// Package capability says what a skill may do: it parses a capability, compares
// two of them, matches a concrete request against them, and says them in plain
// words for the person who decides.
//
// A capability is written as an action and, for most actions, a resource:
//
//	fs.read:/data/**                            files below a directory
//	fs.write:/data/out/*.csv                    files by name
//	http:GET https://api.example.com/v1/*       a method and a URL prefix
//	http:GET,POST https://*.example.com:8443/*  several methods, any one label
//	secret:github  skill:html-to-text  model:*  a name, or the start of names
//	session:js-repl/work                        a skill, and one of its sessions
//	kv  notify  clock  random  native           nothing further to say
//
// A file pattern is an absolute, clean, slash-separated path. In it "*" stands
// for any run of characters within a segment and the segment "**" for zero or
// more whole segments, so that /data/** covers /data itself. Every other
// character, "?", "[" and "{" included, stands for itself.
//
// In a URL pattern a host is literal, or "*." and a domain of at least two
// labels, where "*" is exactly one label. A path is literal, or ends in "*" and
// is then a prefix; "**" at its end means the same and is written "*". A "*"
// that is meant literally is written %2A.
//
// The text of a capability is canonical: two texts that differ only in notation
// parse to the same value, and Parse(c.String()) is c. Comparing is sound:
// Covers never answers true wrongly, and a request that servers might read in
// two ways (a path that climbs, a host in octal, a backslash) is allowed by
// nothing.
//
// The package is pure. It opens no file, resolves no name and asks nobody: who
// granted a capability, for how long, and which policy may still refuse it is
// for the packages that import this one.
package capability
