package policies

import (
	"iter"

	cedar "github.com/cedar-policy/cedar-go"
	publicast "github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// index finds the policies whose scope can match a question. A policy it leaves
// out could not have matched, nor failed: Cedar looks at the scope before the
// conditions, and a scope cannot fail. Without it a decision would cost time in
// proportion to all policies, most of which name another skill or action.
type index struct {
	byAction map[cedar.EntityUID]*bucket // by action
	rest     bucket                      // for actions that no policy names
}

// bucket holds the policies for one action.
type bucket struct {
	every   []entry                     // for more than one skill
	bySkill map[cedar.EntityUID][]entry // for one
	wants   callKeys                    // what policies in it look at of a call
}

// entry is a policy in a bucket, without the part of its scope that the bucket
// stands for: Cedar would build a set of all the actions a policy lists for each
// evaluation.
type entry struct {
	id       cedar.PolicyID
	compiled *cedar.Policy
}

func newIndex(policies []*policy) index {
	ix := index{byAction: map[cedar.EntityUID]*bucket{}}
	for _, p := range policies {
		for _, uid := range namedActions(p) {
			ix.byAction[uid] = &bucket{}
		}
	}
	for _, p := range policies {
		for _, s := range ix.bucketsFor(p) {
			s.add(p)
		}
	}
	return ix
}

// bucketsFor returns the buckets a policy belongs in: those of the actions it
// names, or all of them.
func (ix *index) bucketsFor(p *policy) []*bucket {
	var list []*bucket
	if names := namedActions(p); names != nil {
		for _, uid := range names {
			list = append(list, ix.byAction[uid])
		}
		return list
	}
	for _, b := range ix.byAction {
		list = append(list, b)
	}
	return append(list, &ix.rest)
}

func (s *bucket) add(p *policy) {
	s.wants |= callKeysOf(p.ast())
	rest := *p.ast()
	if namedActions(p) != nil {
		rest.Action = ast.Scope{}.All()
	}
	uid, one := namedSkill(p)
	if one {
		rest.Principal = ast.Scope{}.All()
	}
	e := entry{id: cedar.PolicyID(p.ID), compiled: cedar.NewPolicyFromAST((*publicast.Policy)(&rest))}
	if !one {
		s.every = append(s.every, e)
		return
	}
	if s.bySkill == nil {
		s.bySkill = map[cedar.EntityUID][]entry{}
	}
	s.bySkill[uid] = append(s.bySkill[uid], e)
}

// namedActions returns the actions a policy is for, each once, or nil when its
// scope does not list them.
func namedActions(p *policy) []cedar.EntityUID {
	switch scope := p.ast().Action.(type) {
	case ast.ScopeTypeEq:
		return []cedar.EntityUID{scope.Entity}
	case ast.ScopeTypeInSet:
		var list []cedar.EntityUID
		seen := map[cedar.EntityUID]bool{}
		for _, uid := range scope.Entities {
			if !seen[uid] {
				seen[uid] = true
				list = append(list, uid)
			}
		}
		return list
	default:
		return nil
	}
}

// namedSkill returns the one skill a policy is for.
func namedSkill(p *policy) (cedar.EntityUID, bool) {
	scope, ok := p.ast().Principal.(ast.ScopeTypeEq)
	return scope.Entity, ok
}

// candidates are the policies for one question, as Cedar iterates over them.
type candidates struct {
	every, skill []entry
}

func (ix *index) candidates(a *question) candidates {
	s, ok := ix.byAction[a.action]
	if !ok {
		s = &ix.rest
	}
	return candidates{every: s.every, skill: s.bySkill[a.principal]}
}

// All is Cedar's PolicyIterator.
func (c candidates) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, list := range [...][]entry{c.every, c.skill} {
			for _, e := range list {
				if !yield(e.id, e.compiled) {
					return
				}
			}
		}
	}
}
