package main

// sampling says how the samples of a prediction lie in the rows of the data
// (ISO 32000-1, table 8).
type sampling struct {
	colors, bits int
	row          int // bytes of a row
	step         int // bytes from a sample to the one left of it, at least 1
}

// unpredict undoes the prediction that the parameters of a filter ask for, which
// cross-reference streams use to become smaller. Data without one stay as they
// are; with parameters that make no sense there are none.
func unpredict(data []byte, parameters dict) []byte {
	predictor := whole(parameters["Predictor"])
	if predictor < 2 {
		return data
	}
	s, ok := newSampling(parameters)
	switch {
	case !ok:
		return nil
	case predictor == 2:
		return s.differences(data)
	}
	return s.png(data)
}

func newSampling(parameters dict) (sampling, bool) {
	colors := max(1, whole(parameters["Colors"]))
	columns := max(1, whole(parameters["Columns"]))
	bits := whole(parameters["BitsPerComponent"])
	if bits == 0 {
		bits = 8
	}
	if colors > 32 || columns > maxStream || bits < 1 || bits > 16 || bits&(bits-1) != 0 {
		return sampling{}, false
	}
	return sampling{colors, bits, (colors*columns*bits + 7) / 8, max(1, colors*bits/8)}, true
}

// differences undoes the prediction of TIFF: each sample is the difference from
// the one left of it.
func (s sampling) differences(data []byte) []byte {
	for start := 0; start < len(data); start += s.row {
		row := data[start:min(len(data), start+s.row)]
		samples := len(row) * 8 / s.bits
		for i := s.colors; i < samples; i++ {
			s.put(row, i, s.get(row, i)+s.get(row, i-s.colors))
		}
	}
	return data
}

// get returns the sample at an index of a row.
func (s sampling) get(row []byte, i int) int {
	if s.bits == 16 {
		return int(row[2*i])<<8 | int(row[2*i+1])
	}
	at := i * s.bits
	return int(row[at/8]) >> (8 - s.bits - at%8) & (1<<s.bits - 1)
}

// put sets the sample at an index of a row to the low bits of v.
func (s sampling) put(row []byte, i, v int) {
	if s.bits == 16 {
		row[2*i], row[2*i+1] = byte(v>>8), byte(v)
		return
	}
	at, mask := i*s.bits, 1<<s.bits-1
	shift := 8 - s.bits - at%8
	row[at/8] = row[at/8]&^byte(mask<<shift) | byte(v&mask<<shift)
}

// png undoes the predictions of PNG (ISO/IEC 15948, 9.2), one for each row. The
// rows are moved together as the byte in front of each, which names its
// prediction, goes away.
func (s sampling) png(data []byte) []byte {
	above := make([]byte, s.row)
	out := data[:0]
	for len(data) > 1 {
		kind, n := data[0], min(s.row, len(data)-1)
		start := len(out)
		out = append(out, data[1:1+n]...)
		row := out[start:]
		s.unfilter(kind, row, above)
		above, data = row, data[1+n:]
	}
	return out
}

// unfilter undoes the prediction of one row.
func (s sampling) unfilter(kind byte, row, above []byte) {
	for i := range row {
		var left, corner byte
		if i >= s.step {
			left, corner = row[i-s.step], above[i-s.step]
		}
		switch kind {
		case 1:
			row[i] += left
		case 2:
			row[i] += above[i]
		case 3:
			row[i] += byte((int(left) + int(above[i])) / 2)
		case 4:
			row[i] += paeth(int(left), int(above[i]), int(corner))
		}
	}
}

// paeth returns the neighbour that is nearest to left + above - corner.
func paeth(left, above, corner int) byte {
	a, b, c := abs(above-corner), abs(left-corner), abs(left+above-2*corner)
	switch {
	case a <= b && a <= c:
		return byte(left)
	case b <= c:
		return byte(above)
	}
	return byte(corner)
}

func abs(n int) int { return max(n, -n) }
