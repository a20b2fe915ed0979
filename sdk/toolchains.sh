#!/usr/bin/env bash
# Installs the compilers that the SDKs' languages need, of pinned versions, from the package registries: Zig from PyPI,
# which is the compiler for C and C++ too, AssemblyScript and TypeScript's checker from npm, gRPC for providers in Python
# from PyPI, and Rust's targets by rustup. Go is there. They go into .tools, but for Rust's targets, which are rustup's.
# What is there already is left alone; a language whose installer is not on this machine is left out, and said.
set -euo pipefail
cd "$(dirname "$0")/.."

zig_version=0.17.1
assemblyscript_version=0.28.20
typescript_version=5.9.3
rust_version=1.95.0
rust_targets=(wasm32-unknown-unknown wasm32-wasip1)

tools=$PWD/.tools
mkdir -p "$tools"

# Each function below ends with an error when an installation fails, which -e does not see to where it is asked about.

# have says why a language is left out when a program is missing.
have() {
	command -v "$2" >/dev/null || { echo "$1: left out: there is no $2 here"; return 1; }
}

zig() {
	have 'Zig, C and C++' python3 || return 0
	if [ "$("$tools/py/bin/python" -m ziglang version 2>/dev/null)" != "$zig_version" ]; then
		python3 -m venv "$tools/py" || return 1
		"$tools/py/bin/pip" install --quiet --disable-pip-version-check "ziglang==$zig_version" || return 1
	fi
	echo "Zig, C and C++: Zig $zig_version"
}

assemblyscript() {
	have AssemblyScript node && have AssemblyScript npm || return 0
	local asc=$tools/node/node_modules/.bin/asc
	if [ "$("$asc" --version 2>/dev/null)" != "Version $assemblyscript_version" ]; then
		npm install --silent --no-fund --no-audit --prefix "$tools/node" "assemblyscript@$assemblyscript_version" || return 1
	fi
	echo "AssemblyScript: $assemblyscript_version"
}

# typescript only checks types, for the tests: scripts are built without it.
typescript() {
	have TypeScript node && have TypeScript npm || return 0
	local tsc=$tools/node/node_modules/.bin/tsc
	if [ "$("$tsc" --version 2>/dev/null)" != "Version $typescript_version" ]; then
		npm install --silent --no-fund --no-audit --prefix "$tools/node" "typescript@$typescript_version" || return 1
	fi
	echo "TypeScript: $typescript_version"
}

# rust adds the targets to the toolchain that cargo uses by itself. Where there is none it installs one.
rust() {
	have Rust rustup || return 0
	if ! rustc --version >/dev/null 2>&1; then
		rustup toolchain install "$rust_version" --profile minimal && rustup default "$rust_version" || return 1
	fi
	local installed
	installed=$(rustup target list --installed) || return 1
	for target in "${rust_targets[@]}"; do
		grep -qx "$target" <<<"$installed" || rustup target add "$target" || return 1
	done
	echo "Rust: $(rustc --version)"
}

# python_grpc is for providers in Python: what it installs is pinned with its digests.
python_grpc() {
	have 'Python with gRPC' python3 || return 0
	local wanted=sdk/provider/python/requirements.txt
	if ! "$tools/py/bin/python" -c 'import grpc' >/dev/null 2>&1; then
		[ -x "$tools/py/bin/python" ] || python3 -m venv "$tools/py" || return 1
		"$tools/py/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r "$wanted" || return 1
	fi
	echo "Python with gRPC: grpcio $("$tools/py/bin/python" -c 'import grpc; print(grpc.__version__)')"
}

failed=0
for language in zig assemblyscript typescript rust python_grpc; do
	"$language" || { echo "$language: could not be installed"; failed=1; }
done
exit "$failed"
