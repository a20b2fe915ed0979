package capability

import "strings"

// parseNamePattern checks a name that may end in "*".
func parseNamePattern(text string) (string, *fault) {
	name, starred := strings.CutSuffix(text, "*")
	if starred && name == "" {
		return text, nil
	}
	if strings.Contains(name, "*") {
		return "", faultf("", `"*" may stand only once, at the end of a name`)
	}
	return text, checkName(name)
}

// checkName refuses what is not a name. Names are ASCII, so that no two look
// alike to the person who reads them.
func checkName(name string) *fault {
	if name == "" {
		return faultf("", "it has no name; write one, or * for every name")
	}
	for i := range len(name) {
		if !isNameByte(name[i], i == 0) {
			return faultf("", "%s is not a name: letters, digits and . _ - / : @ + only, beginning with a letter or digit", quote(name))
		}
	}
	return nil
}

func isNameByte(b byte, first bool) bool {
	return isAlnum(b) || !first && strings.IndexByte("._-/:@+", b) >= 0
}

func isAlnum(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}
