# Everything here needs Go, git and make, and nothing else; only make testdata needs more.

GO         ?= go
SKILLS     := $(sort $(patsubst skills/%/main.go,%,$(wildcard skills/*/main.go)))
# First-party skills that need no compiler: a prompt, and scripts.
PLAIN      := commit-message js-repl python-repl
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME   ?= 10s
BENCHTIME  ?= 1s
# Such as -key key.pem, or -platforms linux/amd64.
RELEASEFLAGS ?=
# A benchmark that runs everything once is a test: its figures mean nothing.
BENCHFLAGS ?=

# Every go command has the same flags, so that what one compiles is there for the others: check for test, and both for .ci/run.
export GOFLAGS := $(sort $(GOFLAGS) -trimpath)

# Compiled code of guests that tests keep for the next run, bound to the module and to the engine that made it. Out of the
# tree, so that go test does not take it for something that a test depends on.
export TEST_CODE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/skillet-test

.PHONY: help release build providers testproviders skills engines demo test figures arm64 check bench benchonce toolchains languages testdata generate fuzz mutate prove proveshort openapitools mcptools clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /	/' | expand -t 10

# No compiler writes what the linker would strip: that saves a tenth of the work of a first build.
RELEASE := -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w'

# Compilers that collect garbage half as often save another seventh of it.
COMPILE := GOGC=$${GOGC:-200} $(GO)
GOBUILD := $(COMPILE) build $(RELEASE)

# Without cgo the program needs no library of the system, which its worker processes could not open.
build: ## build bin/skillet
	CGO_ENABLED=0 $(GOBUILD) $(CATALOG) -o bin/skillet ./cmd/skillet

# The program embeds the list of what is packed in dist, with digests: so it installs those packages, and no others in their place.
CATALOG = $(if $(wildcard dist/catalog.json),-overlay host/fetch/catalog/overlay.json)

# A module of its own, because the SDKs are large. Building and testing it share what they compile.
providers: build ## build the providers of OpenAI, Anthropic, Gemini and Ollama and pack them into dist/
	@for p in openai anthropic gemini ollama; do \
	  at=cmd/skillet-$$p; \
	  (cd plugins/providers && CGO_ENABLED=0 $(GOBUILD) -o $$at/skillet-$$p-$$($(GO) env GOOS)-$$($(GO) env GOARCH)$$($(GO) env GOEXE) ./$$at) && \
	  bin/skillet pack plugins/providers/$$at --output dist --no-sign || exit 1; done

testproviders: providers skills ## test those providers, also from end to end
	cd plugins/providers && CGO_ENABLED=0 $(GO) vet $(RELEASE) ./... && CGO_ENABLED=0 $(GO) test $(RELEASE) -timeout 10m ./...

# What the skills share is compiled once; then two are linked and packed at a time. go list compiles and does not link.
skills: ## build the first-party skills, pack them into dist/, and build bin/skillet, which lists them
	GOOS=wasip1 GOARCH=wasm $(COMPILE) list -export $(RELEASE) $(SKILLS:%=./skills/%) > /dev/null
	@$(MAKE) --no-print-directory -j2 $(SKILLS:%=skills/%/main.wasm)
	CGO_ENABLED=0 $(GO) run $(RELEASE) ./cmd/catalog -output dist $(SKILLS:%=skills/%) $(PLAIN:%=skills/%)
	@$(MAKE) --no-print-directory build

# go build decides itself whether anything has to be done.
skills/%/main.wasm: FORCE
	GOOS=wasip1 GOARCH=wasm $(GOBUILD) -buildmode=c-shared -o $@ ./skills/$*

# Without this make deletes them again, as files between a source and a package.
.PRECIOUS: skills/%/main.wasm

FORCE:

engines: build ## build the interpreters of scripts into dist/, and bin/skillet, which lists them; needs the registries of npm and Python once, or what they kept
	bin/skillet engine build qjs python cpython cpython-office --output dist
	CGO_ENABLED=0 $(GO) run $(RELEASE) ./cmd/catalog -output dist
	@$(MAKE) --no-print-directory build

demo: skills ## see untrusted code do useful work, and fail to do anything else
	bin/skillet demo

# Such as make test LONG=1, which .ci/run does.
LONG ?=

test: ## run every test that is not long, or with LONG=1 those as well; CONTRIBUTING.md says which are, and make check has go vet
	.ci/scratch $(GO) test -vet=off $(if $(LONG),,-short) -timeout 30m ./...

figures: ## print sizes: lines, the largest packages, how long functions are, folders below host
	@$(GO) run ./internal/figures

# An emulator cannot start this program again for a child, and has a memory of its own.
NOT_EMULATED := Hole|Bomb|TestMutants|TestNothingLeaks

arm64: ## run the sandbox's tests as arm64 code; needs qemu-aarch64 (Debian: qemu-user)
	@command -v qemu-aarch64 > /dev/null || { echo 'there is no qemu-aarch64 here'; exit 1; }
	CGO_ENABLED=0 GOARCH=arm64 $(GO) test -short -count=1 -timeout 30m -exec qemu-aarch64 -skip '$(NOT_EMULATED)' \
	  ./host/engine/sandbox/wasmbin ./host/engine/sandbox/wasi ./host/engine/sandbox

check: ## formatting, vet, staticcheck, the import table, generated files
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'not formatted: run gofmt -w'; exit 1; }
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) build ./sdk/go ./sdk/conformance/go ./skills/...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test -count=1 ./internal/archtest
	$(GO) mod tidy -diff
	cd bench && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) mod tidy -diff
	cd bench && CGO_ENABLED=0 $(GO) vet ./...
	cd bench && GOOS=wasip1 GOARCH=wasm $(GO) build ./guests/go/...
	cd $(GITLEAKS) && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) test -timeout 10m ./...
	cd release && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./... && $(GO) mod tidy -diff
	cd plugins/proto && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) run . -check
	cd plugins/providers && $(GO) mod tidy -diff

bench: build ## run every benchmark: proof/bench.txt, bench/report.json with the bars, and proof/governed.txt
	@mkdir -p proof
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./... > proof/bench.txt 2>&1; \
	  status=$$?; cat proof/bench.txt; exit $$status
	cd bench && $(GO) run -trimpath . $(BENCHFLAGS)
	$(GO) run ./cmd/prove governed

# Once is no measurement: two packages are run at a time.
benchonce: ## run every benchmark once, which says that it works and not how fast
	$(GO) list -f '{{.Dir}}' ./... | while read -r dir; do if grep -qs '^func Benchmark' "$$dir"/*_test.go; then echo "$$dir"; fi; done | \
	  xargs -P 2 -n 4 .ci/scratch $(GO) test -vet=off -run '^$$' -bench . -benchtime 1x -timeout 10m
	cd bench && $(GO) run -trimpath . --quick

release: ## make what is published into dist/release: archives, MCP bundles, deb, rpm, image, bill of materials, checksums
	cd release && $(GO) run -trimpath . $(RELEASEFLAGS)

tools: ## install what some tests are run against into .tools: a registry, and cosign
	CGO_ENABLED=0 GOBIN=$(CURDIR)/.tools $(GO) install $(RELEASE) github.com/distribution/distribution/v3/cmd/registry@v3.1.2
	CGO_ENABLED=0 GOBIN=$(CURDIR)/.tools $(GO) install $(RELEASE) github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3

# Of pinned versions, with the hashes of all they need. What they install runs nothing of its own.
openapitools: ## install what tries the service into .tools, from PyPI and npm: schemathesis and spectral
	@command -v python3 > /dev/null && command -v npm > /dev/null || { echo 'there is no python3 or npm here'; exit 1; }
	test -x .tools/openapi/bin/python || python3 -m venv .tools/openapi
	.tools/openapi/bin/pip install --quiet --disable-pip-version-check --require-hashes -r cmd/prove/openapi/requirements.txt
	cp cmd/prove/openapi/package.json cmd/prove/openapi/package-lock.json .tools/openapi/
	npm ci --silent --ignore-scripts --no-fund --no-audit --prefix .tools/openapi

mcptools: ## install what tries the edge for models into .tools: the conformance suite of MCP, its inspector, two servers and Node 22 from npm, LangChain's adapter from PyPI
	@command -v npm > /dev/null || { echo 'there is no npm here'; exit 1; }
	mkdir -p .tools/mcp
	cp host/edge/mcp/testdata/conformance/package.json host/edge/mcp/testdata/conformance/package-lock.json .tools/mcp/
	npm ci --silent --ignore-scripts --no-fund --no-audit --prefix .tools/mcp
	mkdir -p .tools/mcpservers
	cp host/run/mcpserver/testdata/servers/package.json host/run/mcpserver/testdata/servers/package-lock.json .tools/mcpservers/
	npm ci --silent --ignore-scripts --no-fund --no-audit --prefix .tools/mcpservers
	@command -v python3 > /dev/null || { echo 'there is no python3 here'; exit 1; }
	test -x .tools/langchain/bin/python || python3 -m venv .tools/langchain
	.tools/langchain/bin/pip install --quiet --disable-pip-version-check --require-hashes -r host/edge/mcp/testdata/langchain/requirements.txt

# Tests of a language whose compiler is not here are skipped, each with a line that says so.
toolchains: ## install the compilers of the SDKs' languages into .tools: Zig (C and C++ too), AssemblyScript, Rust's targets
	sdk/toolchains.sh

languages: ## measure the conformance skill in each language, and write the table of docs/languages.md
	$(GO) test -count=1 -timeout 20m -run '^TestTable$$' -v ./sdk/conformance -update

testdata: ## build the benchmark's guests that are not Go, see bench/guests/README.md
	bench/guests/build.sh

# The rules of secrets are made of the gitleaks module, by a program that is a module of its own.
GITLEAKS := host/review/findings/secrets/gitleaks

generate: ## make what is made of other sources: the SDKs' low-level parts, the plugins' gRPC, the rules of secrets, documentation
	$(GO) run ./sdk/hostapi/generate
	cd plugins/proto && $(GO) run .
	cd $(GITLEAKS) && $(GO) run . > rules.new && mv rules.new ../rules.json
	$(GO) test -count=1 -run '^TestDocumentation$$' ./host/review/findings -update

fuzz: ## run every fuzz target for FUZZTIME
	@set -e; n=0; for d in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(cat $$d/*_test.go | grep -oE '^func Fuzz[A-Za-z0-9_]+' | cut -c6-); do \
	    echo "$$d $$f"; n=$$((n+1)); \
	    (cd $$d && $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x .) > .fuzz.log 2>&1 \
	      || { cat .fuzz.log; rm -f .fuzz.log; exit 1; }; \
	  done; \
	done; rm -f .fuzz.log; echo "$$n fuzz targets"; test $$n -gt 0

# The same targets, for so many mutations each, and with two packages at a time; see .ci/fuzz.
MUTATIONS ?= 1000
FUZZED     = $(shell $(GO) list -f '{{.Dir}}' ./... | while read -r d; do grep -qs '^func Fuzz' $$d/*_test.go && echo $$d; done)

mutate: ## run every fuzz target for MUTATIONS, without what guides long runs
	FUZZTIME=$(MUTATIONS)x .ci/scratch $(GO) test -vet=off -count=1 -v -exec $(CURDIR)/.ci/fuzz $(FUZZED)

prove: build skills ## the long proofs: kills, flipped bits, mutants; writes proof/report.txt
	@mkdir -p proof
	SKILLET_PROVE=1 $(GO) test -count=1 -timeout 4h -v ./... > proof/report.txt 2>&1; status=$$?; \
	  grep -E '^(---|ok|FAIL|    .*proof:)' proof/report.txt | tail -100; exit $$status
	$(GO) run ./cmd/prove openapi load many power

# The same of the service, a small part of each, for minutes in place of an hour.
proveshort: build ## try a service from outside, briefly: any request, load, many skills, power cuts, what a call takes
	$(GO) run ./cmd/prove -short openapi load many power governed

clean: ## delete what was built
	rm -rf bin dist proof .tools skills/*/main.wasm plugins/providers/cmd/*/skillet-*-*
