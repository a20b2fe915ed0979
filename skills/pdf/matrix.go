package main

import "math"

// matrix is a transformation [a b c d e f] as in a content stream: the point
// (x, y) becomes (ax+cy+e, bx+dy+f).
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// mul returns the transformation that does m first and then n.
func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2],
		m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2],
		m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4],
		m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// shift returns m moved by (x, y) in its own coordinates.
func (m matrix) shift(x, y float64) matrix {
	m[4] += x*m[0] + y*m[2]
	m[5] += x*m[1] + y*m[3]
	return m
}

// across returns where a step of length 1 along the x axis leads.
func (m matrix) across() vector { return vector{m[0], m[1]} }

// up returns where a step of length 1 along the y axis leads.
func (m matrix) up() vector { return vector{m[2], m[3]} }

// origin returns where (0, 0) leads.
func (m matrix) origin() vector { return vector{m[4], m[5]} }

// vector is a point or a direction on the page.
type vector struct{ x, y float64 }

func (v vector) plus(w vector) vector   { return vector{v.x + w.x, v.y + w.y} }
func (v vector) minus(w vector) vector  { return vector{v.x - w.x, v.y - w.y} }
func (v vector) times(f float64) vector { return vector{v.x * f, v.y * f} }
func (v vector) dot(w vector) float64   { return v.x*w.x + v.y*w.y }
func (v vector) cross(w vector) float64 { return v.x*w.y - v.y*w.x }
func (v vector) length() float64        { return math.Hypot(v.x, v.y) }
func (v vector) near(w vector, d float64) bool {
	return math.Abs(v.x-w.x) <= d && math.Abs(v.y-w.y) <= d
}

// unit returns v with length 1, or (1, 0) when v has no length or no finite one.
func (v vector) unit() vector {
	n := v.length()
	if n == 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return vector{1, 0}
	}
	return vector{v.x / n, v.y / n}
}

// finite reports whether v is a point at all.
func (v vector) finite() bool { return !math.IsNaN(v.x+v.y) && !math.IsInf(v.x+v.y, 0) }
