package main

import (
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// glyphNames maps the names fonts give their glyphs to the text they stand for.
type glyphNames map[string]string

// namedGlyphs are the names that follow no rule, each with its text. The rules
// are in glyphNames.text.
const namedGlyphs = `
exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright )
asterisk * plus + comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7
eight 8 nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \
bracketright ] asciicircum ^ underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~
quoteright ’ quoteleft ‘ exclamdown ¡ cent ¢ sterling £ fraction ⁄ yen ¥ florin ƒ section § currency ¤
quotedblleft “ guillemotleft « guillemetleft « guilsinglleft ‹ guilsinglright › endash – dagger †
daggerdbl ‡ periodcentered · middot · paragraph ¶ bullet • quotesinglbase ‚ quotedblbase „
quotedblright ” guillemotright » guillemetright » ellipsis … perthousand ‰ questiondown ¿ acute ´
circumflex ˆ tilde ˜ macron ¯ overscore ¯ breve ˘ dotaccent ˙ dieresis ¨ ring ˚ cedilla ¸ hungarumlaut ˝
ogonek ˛ caron ˇ emdash — AE Æ ordfeminine ª Lslash Ł Oslash Ø OE Œ ordmasculine º ae æ dotlessi ı
lslash ł oslash ø oe œ germandbls ß logicalnot ¬ mu µ trademark ™ Eth Ð eth ð Thorn Þ thorn þ
onehalf ½ onequarter ¼ threequarters ¾ onesuperior ¹ twosuperior ² threesuperior ³ plusminus ± divide ÷
multiply × brokenbar ¦ degree ° copyright © registered ® minus − Dcroat Đ dcroat đ Hbar Ħ hbar ħ
IJ Ĳ ij ĳ kgreenlandic ĸ Ldot Ŀ ldot ŀ Eng Ŋ eng ŋ Tbar Ŧ tbar ŧ longs ſ dotlessj ȷ napostrophe ŉ
visiblespace ␣ compwordmark
ff ff fi fi fl fl ffi ffi ffl ffl longst st suppress l Euro € euro € peseta ₧ lira ₤ colonmonetary ₡
estimated ℮ oneeighth ⅛ threeeighths ⅜ fiveeighths ⅝ seveneighths ⅞ onethird ⅓ twothirds ⅔ minute ′
second ″ exclamdbl ‼ interrobang ‽ numero № servicemark ℠ published ℗ recipe ℞ referencemark ※
quotereversed ‛ twodotenleader ‥ threequartersemdash — rupiah ₨ afii61352 № afii00208 ―
afii10023 Ё afii10071 ё afii10050 Ґ afii10098 ґ afii10145 Џ afii10193 џ afii10110 ў
Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ
Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ
epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ nu ν xi ξ omicron ο pi π rho ρ sigma σ sigma1 ς
tau τ upsilon υ phi φ chi χ psi ψ omega ω theta1 ϑ phi1 ϕ omega1 ϖ Upsilon1 ϒ rho1 ϱ epsilon1 ε kappa1 ϰ
sigmafinal ς digamma ϝ Digamma Ϝ anoteleia · dieresistonos ΅ tonos ΄ questiongreek ;
aleph ℵ beth ℶ gimel ℷ daleth ℸ weierstrass ℘ Ifraktur ℑ Rfraktur ℜ lscript ℓ planckover2pi ℏ
planckover2pi1 ℏ partialdiff ∂ infinity ∞ prime ′ emptyset ∅ nabla ∇ gradient ∇ existential ∃ thereexists ∃
universal ∀ forall ∀ element ∈ notelement ∉ owner ∋ suchthat ∋ product ∏ coproduct ∐ summation ∑
summationtext ∑ summationdisplay ∑ producttext ∏ productdisplay ∏ coproducttext ∐ coproductdisplay ∐
integral ∫ integraltext ∫ integraldisplay ∫ contintegral ∮ contintegraltext ∮ contintegraldisplay ∮
radical √ proportional ∝ angle ∠ logicaland ∧ logicalor ∨ intersection ∩ union ∪ therefore ∴ because ∵
similar ∼ similarequal ≃ congruent ≅ approxequal ≈ asymptoticallyequal ≍ notequal ≠ equivalence ≡
equivasymptotic ≍ lessequal ≤ greaterequal ≥ lessmuch ≪ greatermuch ≫ propersubset ⊂ propersuperset ⊃
notsubset ⊄ reflexsubset ⊆ reflexsuperset ⊇ precedes ≺ follows ≻ precedesequal ≼ followsequal ≽
circleplus ⊕ circleminus ⊖ circlemultiply ⊗ circledivide ⊘ circledot ⊙ perpendicular ⊥ dotmath ⋅
asteriskmath ∗ diamondmath ⋄ diamond ⋄ starmath ⋆ star ⋆ openbullet ◦ square □ box □ lozenge ◊
dividemultiply ⋇ turnstileleft ⊢ turnstileright ⊣ subsetsqequal ⊑ supersetsqequal ⊒ intersectionsq ⊓
unionsq ⊔ unionmulti ⊎ minusplus ∓ wreathproduct ≀ top ⊤ latticetop ⊤ logicalandtext ⋀ logicalortext ⋁
uniontext ⋃ intersectiontext ⋂ uniondisplay ⋃ intersectiondisplay ⋂ triangle △ triangleleft ◁
triangleright ▷ triangleinv ▽ triangledown ▿ spade ♠ club ♣ heart ♥ diamondsuit ♦ flat ♭ natural ♮
sharp ♯ bardbl ‖ bar2 ‖ floorleft ⌊ floorright ⌋ ceilingleft ⌈ ceilingright ⌉ angbracketleft ⟨
angbracketright ⟩ angleleft ⟨ angleright ⟩ arrowleft ← arrowright → arrowup ↑ arrowdown ↓ arrowboth ↔
arrowupdn ↕ arrowdblleft ⇐ arrowdblright ⇒ arrowdblup ⇑ arrowdbldown ⇓ arrowdblboth ⇔ arrownortheast ↗
arrowsoutheast ↘ arrownorthwest ↖ arrowsouthwest ↙ mapsto ↦ carriagereturn ↵ arrowhookleft ↩
arrowhookright ↪ harpoonleftbarbup ↼ harpoonrightbarbup ⇀ slurabove ⌢ slurbelow ⌣ tie ⁀ check ✓
checkmark ✓ maltesecross ✠ perp ⊥ backslashbig \ slashbig / parenleftbig ( parenrightbig ) parenleftBig (
parenrightBig ) parenleftbigg ( parenrightbigg ) parenleftBigg ( parenrightBigg ) bracketleftbig [
bracketrightbig ] bracketleftBig [ bracketrightBig ] bracketleftbigg [ bracketrightbigg ]
bracketleftBigg [ bracketrightBigg ] braceleftbig { bracerightbig } braceleftBig { bracerightBig }
braceleftbigg { bracerightbigg } braceleftBigg { bracerightBigg } radicalbig √ radicalBig √ radicalbigg √
radicalBigg √ smile ☺ smileface ☺ invsmileface ☻ sun ☼ female ♀ male ♂ musicalnote ♪ musicalnotedbl ♫
filledbox ■ filledrect ▬ triagup ▲ triagdn ▼ triagrt ► triaglf ◄ circle ○ blackcircle ● house ⌂
fullblock █ shade ▒ ltshade ░ dkshade ▓ orthogonal ∟ revlogicalnot ⌐ integraltp ⌠ integralbt ⌡
hyphenchar - sfthyphen - softhyphen - minussign − nonbreakinghyphen ‑ figuredash ‒ horizontalbar ―
lessorequalslant ≤ greaterorequalslant ≥ lessorsimilar ≲ greaterorsimilar ≳ ringmath ∘
`

// newGlyphNames lays out the table of names.
func newGlyphNames() glyphNames {
	fields := strings.Fields(strings.Replace(namedGlyphs, "compwordmark\n", "", 1))
	names := make(glyphNames, len(fields)/2+4)
	for i := 0; i+1 < len(fields); i += 2 {
		names[fields[i]] = fields[i+1]
	}
	for _, blank := range []string{"space", "nbspace", "nonbreakingspace", "spacehackarabic"} {
		names[blank] = " "
	}
	return names
}

// marks are the endings of names of accented letters, with the combining
// character each stands for. Longer endings come first.
var marks = []struct{ ending, mark string }{
	{"dieresistonos", "\u0308\u0301"}, {"hungarumlaut", "\u030b"}, {"commaaccent", "\u0327"},
	{"circumflex", "\u0302"}, {"dotaccent", "\u0307"}, {"hookabove", "\u0309"}, {"dotbelow", "\u0323"},
	{"dieresis", "\u0308"}, {"cedilla", "\u0327"}, {"macron", "\u0304"}, {"ogonek", "\u0328"},
	{"grave", "\u0300"}, {"acute", "\u0301"}, {"tilde", "\u0303"}, {"breve", "\u0306"}, {"caron", "\u030c"},
	{"tonos", "\u0301"}, {"ring", "\u030a"}, {"horn", "\u031b"}, {"dot", "\u0307"},
}

// forms are the endings that name another shape of the same character.
var forms = []string{"oldstyle", "superior", "inferior", "small", "fitted", "taboldstyle", "math"}

// text returns the text a glyph name stands for, after the rules of the Adobe
// Glyph List Specification: what follows a period is left off, components are
// joined by underscores, "uni" and "u" introduce hexadecimal code points. It is
// empty for a name that says nothing, like "g17".
func (names glyphNames) text(name string) string {
	if len(name) == 1 {
		return name
	}
	name, _, _ = strings.Cut(name, ".")
	if t, ok := names[name]; ok {
		return t
	}
	if strings.Contains(name, "_") {
		var b strings.Builder
		for part := range strings.SplitSeq(name, "_") {
			b.WriteString(names.text(part))
		}
		return b.String()
	}
	return names.derived(name)
}

// derived applies the rules for names outside of the table.
func (names glyphNames) derived(name string) string {
	for _, rule := range []func(string) string{codePoints, afii, names.accented, names.formed} {
		if t := rule(name); t != "" {
			return t
		}
	}
	return ""
}

// codePoints reads uniXXXX, uniXXXXYYYY and uXXXX to uXXXXXX.
func codePoints(name string) string {
	if digits, ok := strings.CutPrefix(name, "uni"); ok && len(digits) >= 4 && len(digits)%4 == 0 {
		var b strings.Builder
		for ; digits != ""; digits = digits[4:] {
			b.WriteString(hexRune(digits[:4]))
		}
		return b.String()
	}
	if digits, ok := strings.CutPrefix(name, "u"); ok && len(digits) >= 4 && len(digits) <= 6 {
		return hexRune(digits)
	}
	return ""
}

func hexRune(digits string) string {
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n == 0 || n > 0x10ffff {
		return ""
	}
	return string(rune(n))
}

// letterRuns are the runs of "afii" numbers that follow an alphabet.
var letterRuns = []struct {
	first, last int
	to          rune
}{
	{10017, 10022, 'А'}, {10024, 10049, 'Ж'}, {10065, 10070, 'а'}, {10072, 10097, 'ж'},
	{10051, 10061, 'Ђ'}, {10062, 10062, 'Ў'}, {10099, 10109, 'ђ'}, {57664, 57690, 'א'},
	{57388, 57388, '،'}, {57392, 57401, '٠'}, {57403, 57403, '؛'}, {57407, 57407, '؟'},
	{57409, 57434, 'ء'}, {57440, 57450, 'ـ'}, {57451, 57458, '\u064b'},
}

// afii reads the "afii" names of Cyrillic, Hebrew and Arabic letters.
func afii(name string) string {
	digits, ok := strings.CutPrefix(name, "afii")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return ""
	}
	for _, run := range letterRuns {
		if n >= run.first && n <= run.last {
			return string(run.to + rune(n-run.first))
		}
	}
	return ""
}

// accented reads names like "eacute", letter by letter: the letter, then one
// ending for each accent.
func (names glyphNames) accented(name string) string {
	for _, m := range marks {
		letter, ok := strings.CutSuffix(name, m.ending)
		if !ok || letter == "" {
			continue
		}
		if base := names.text(letter); base != "" {
			return norm.NFC.String(base + m.mark)
		}
	}
	return ""
}

// formed reads names like "Asmall" and "oneoldstyle".
func (names glyphNames) formed(name string) string {
	for _, form := range forms {
		if base, ok := strings.CutSuffix(name, form); ok && base != "" {
			return names.text(base)
		}
	}
	return ""
}

// numbered reads names that only number their glyphs, which Type 3 fonts made
// from bitmaps use: "a97" and "C0065" give a decimal character code, "#28" a
// hexadecimal one.
func numbered(name string) string {
	if digits, ok := strings.CutPrefix(name, "#"); ok && len(digits) == 2 {
		return hexRune(digits)
	}
	digits := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	n, err := strconv.Atoi(digits)
	if err != nil || len(name)-len(digits) > 2 || n < ' ' || n > '~' {
		return ""
	}
	return string(rune(n))
}
