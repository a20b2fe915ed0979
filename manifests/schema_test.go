package manifests

import "testing"

// TestOwnSchemaIsOne makes up for what compiling the manifest's own schema leaves out: an
// address of ours has it checked against the schema of schemas.
func TestOwnSchemaIsOne(t *testing.T) {
	compileForm(schemaURL, schemaText, nil) // panics otherwise
	defer func() {
		if recover() == nil {
			t.Error("a schema that is none was compiled")
		}
	}()
	compileForm(schemaURL, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "description": 1}`, nil)
}

func BenchmarkOwnSchema(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compileForm(ownURL, schemaText, nil)
	}
}
