package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	skill "github.com/skillet-run/skillet/sdk/go"
)

func TestStatistics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       statisticsOutput
	}{
		{"empty", "", statisticsOutput{}},
		{"blank lines only", " \n\t\r\n\n", statisticsOutput{
			Characters: 5, CodePoints: 6, Bytes: 6, Lines: 3}},
		{"english, wrapped", "It is late. We\nshould go!\n\nYes, it is.\n", statisticsOutput{
			Characters: 39, CharactersWithoutSpace: 29, CodePoints: 39, Bytes: 39, Words: 9, UniqueWords: 7,
			Sentences: 3, Paragraphs: 2, Lines: 4, ReadingTimeSeconds: 3}},
		{"french", "L’été, c'est déjà fini.", statisticsOutput{
			Characters: 23, CharactersWithoutSpace: 20, CodePoints: 23, Bytes: 29, Words: 4, UniqueWords: 4,
			Sentences: 1, Paragraphs: 1, Lines: 1, ReadingTimeSeconds: 2}},
		{"chinese: a character is a word", "你好。再见。", statisticsOutput{
			Characters: 6, CharactersWithoutSpace: 6, CodePoints: 6, Bytes: 18, Words: 4, UniqueWords: 4,
			Sentences: 2, Paragraphs: 1, Lines: 1, ReadingTimeSeconds: 2}},
		{"arabic", "مرحبا بالعالم. كيف حالك؟", statisticsOutput{
			Characters: 24, CharactersWithoutSpace: 21, CodePoints: 24, Bytes: 44, Words: 4, UniqueWords: 4,
			Sentences: 2, Paragraphs: 1, Lines: 1, ReadingTimeSeconds: 2}},
		{"combined characters", "e\u0301 👨‍👩‍👧 🇩🇪", statisticsOutput{
			Characters: 5, CharactersWithoutSpace: 3, CodePoints: 11, Bytes: 31, Words: 1, UniqueWords: 1,
			Sentences: 1, Paragraphs: 1, Lines: 1, ReadingTimeSeconds: 1}},
		{"case does not matter", "Go go GO", statisticsOutput{
			Characters: 8, CharactersWithoutSpace: 6, CodePoints: 8, Bytes: 8, Words: 3, UniqueWords: 1,
			Sentences: 1, Paragraphs: 1, Lines: 1, ReadingTimeSeconds: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := statistics(statisticsInput{Text: tt.text})
			got.TopWords = nil
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("statistics(%q)\n got %+v, %v\nwant %+v", tt.text, got, err, tt.want)
			}
		})
	}
}

func TestTopWords(t *testing.T) {
	t.Parallel()
	text := "b a c b a b"
	tests := []struct {
		top  *int
		want []wordCount
	}{
		{nil, []wordCount{{"b", 3}, {"a", 2}, {"c", 1}}},
		{new(2), []wordCount{{"b", 3}, {"a", 2}}},
		{new(0), []wordCount{}},
	}
	for _, tt := range tests {
		got, err := statistics(statisticsInput{Text: text, Top: tt.top})
		if err != nil || got.TopWords == nil || !slices.Equal(got.TopWords, tt.want) {
			t.Errorf("top words = %v, %v; want %v", got.TopWords, err, tt.want)
		}
	}
}

func TestReadingTime(t *testing.T) {
	t.Parallel()
	got, err := statistics(statisticsInput{Text: strings.Repeat("word ", 301), WordsPerMinute: new(300)})
	if err != nil || got.ReadingTimeSeconds != 61 {
		t.Errorf("reading time of 301 words at 300 a minute = %d s, %v; want 61 s", got.ReadingTimeSeconds, err)
	}
}

func TestStatisticsOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   statisticsInput
		want string
	}{
		{statisticsInput{Top: new(-1)}, "top: must be from 0 to 1000, not -1"},
		{statisticsInput{Top: new(1001)}, "top: must be from 0 to 1000, not 1001"},
		{statisticsInput{WordsPerMinute: new(0)}, "words_per_minute: must be from 10 to 2000, not 0"},
	}
	for _, tt := range tests {
		_, err := statistics(tt.in)
		if err == nil || err.Error() != tt.want || skill.KindOf(err) != skill.Invalid {
			t.Errorf("statistics(%+v) = %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\r\nb\rc\n\nd", []string{"a", "b", "c", "", "d"}},
		{"\n", []string{""}},
		{"\r\n\r\n", []string{"", ""}},
	}
	for _, tt := range tests {
		if got := slices.Collect(lines(tt.text)); !slices.Equal(got, tt.want) {
			t.Errorf("lines(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzStatistics(f *testing.F) {
	for _, seed := range []string{"", "a b. C?\r\n\r\nd", "\xff\xfe\x00", "👨‍👩‍👧", "你好。", "\u202e\u0301\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := statistics(statisticsInput{Text: text, Top: new(maxTop)})
		if err != nil {
			t.Fatalf("statistics(%q): %v", text, err)
		}
		if got.CodePoints != utf8.RuneCountInString(text) || got.Characters > got.CodePoints {
			t.Errorf("statistics(%q): %d characters of %d code points", text, got.Characters, got.CodePoints)
		}
		if got.CharactersWithoutSpace > got.Characters || got.UniqueWords > got.Words || got.Paragraphs > got.Lines {
			t.Errorf("statistics(%q): a part is more than its whole: %+v", text, got)
		}
	})
}

func BenchmarkStatistics(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog.\nÄhnliches gilt für Füchse. ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := statistics(statisticsInput{Text: text}); err != nil {
			b.Fatal(err)
		}
	}
}
