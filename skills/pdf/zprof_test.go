package main

import (
	"os"
	"testing"
)

func BenchmarkFile(b *testing.B) {
	data, _ := os.ReadFile(os.Getenv("F"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pdfToText(textRequest{source: source{DataBase64: data}, Output: "text", MaxChars: mostChars}); err != nil {
			b.Fatal(err)
		}
	}
}
