#!/usr/bin/env bash
# Builds the guests that are not Go into bench/testdata, with compilers of
# pinned versions from the package registries: Zig (for C) from PyPI, Rust by
# rustup, AssemblyScript from npm, and the QuickJS sources from the Rust crate
# registry. What has no installer here is left out, and said.
#
#   build.sh [c] [rust] [as] [js]     all of them when none is named
set -euo pipefail
cd "$(dirname "$0")"

zig_version=0.17.1
as_version=0.28.20

out=../testdata
tools=$(cd ../.. && pwd)/.tools
mkdir -p "$out" "$tools"

# have says why a language is left out when a program is missing.
have() {
	command -v "$2" >/dev/null || { echo "$1: left out: there is no $2 here"; return 1; }
}

zig() {
	if [ ! -x "$tools/py/bin/python" ] || ! "$tools/py/bin/python" -m ziglang version 2>/dev/null | grep -qx "$zig_version"; then
		python3 -m venv "$tools/py"
		"$tools/py/bin/pip" install --quiet "ziglang==$zig_version"
	fi
	"$tools/py/bin/python" -m ziglang "$@"
}

build_c() {
	have c python3 || return 0
	for abi in bulk extism; do
		zig cc -std=gnu23 -target wasm32-freestanding -mcpu=mvp+bulk_memory+sign_ext -O2 -Wall -Wextra -nostdlib \
			-Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=16384 "-D${abi^^}" -o "$out/text-c-$abi.wasm" c/text.c
	done
}

build_rust() {
	have rust cargo || return 0
	build() {
		(cd rust && cargo build --quiet --locked --release --target wasm32-unknown-unknown --target-dir "$tools/rust" --examples "$@")
	}
	local built="$tools/rust/wasm32-unknown-unknown/release/examples"
	build
	cp "$built/text.wasm" "$out/text-rust-bulk.wasm"
	cp "$built/compute.wasm" "$out/compute-rust.wasm"
	build --features extism
	cp "$built/text.wasm" "$out/text-rust-extism.wasm"
}

build_as() {
	have as npm || return 0
	npm install --silent --no-fund --no-audit --prefix "$tools/node" "assemblyscript@$as_version"
	for abi in bulk extism; do
		"$tools/node/node_modules/.bin/asc" "assemblyscript/$abi.ts" --outFile "$out/text-as-$abi.wasm" \
			-O3 --noAssert --runtime minimal --use abort=assemblyscript/text/onAbort
	done
}

build_js() {
	have js python3 && have js cargo || return 0
	cargo vendor --quiet --locked --manifest-path js/Cargo.toml "$tools/quickjs" >/dev/null
	local q="$tools/quickjs/rquickjs-sys/quickjs"
	for abi in bulk extism; do
		zig cc -std=gnu23 -target wasm32-wasi -mexec-model=reactor -O2 -w -fno-sanitize=all -D_GNU_SOURCE -DNDEBUG "-D${abi^^}" \
			-Wl,--strip-all -Wl,-z,stack-size=1048576 -I"$q" -Ic -o "$out/text-js-$abi.wasm" \
			js/driver.c "$q/quickjs.c" "$q/libregexp.c" "$q/libunicode.c" "$q/dtoa.c"
	done
}

for language in "${@:-c rust as js}"; do
	for one in $language; do "build_$one"; done
done
chmod 644 "$out"/*.wasm
(cd "$out" && sha256sum ./*.wasm)
