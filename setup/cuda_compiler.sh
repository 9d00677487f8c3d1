#!/usr/bin/env bash
# cuda_compiler.sh [--find]: prints the path of an nvcc of 12.8 or later: this system's, else that of PyPI's wheels in build/cuda, which it
# installs there (105 MB) unless --find or CONVLENS_NO_INSTALL is given. Where there is none it prints nothing and says why in one line.
# Needs python3 with venv for the wheels (group cuda of packages.txt). cmake/ConvlensCuda.cmake looks in the same places.
set -euo pipefail
cd "$(dirname "$0")/.."
toolkit=build/cuda/nvidia/cu13

# Whether this nvcc runs and is of 12.8 or later.
good() {
  local version
  version=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p') || return 1
  [ -n "$version" ] && [ "$(printf '%s\n' 12.8 "$version" | sort -V | head -n 1)" = 12.8 ]
}

for nvcc in "${CUDACXX:-}" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc "$PWD/$toolkit/bin/nvcc"; do
  if [ -n "$nvcc" ] && [ -x "$nvcc" ] && good "$nvcc"; then echo "$nvcc"; exit 0; fi
done
[ "${1:-}" = --find ] && exit 0

none() { echo "setup: no CUDA compiler: $1; going on without CUDA (install the CUDA toolkit 12.8 or later to have it)" >&2; exit 0; }
[ -z "${CONVLENS_NO_INSTALL:-}" ] || none "there is no nvcc of 12.8 or later, and CONVLENS_NO_INSTALL is set"
[ "$(uname -m)" = x86_64 ] || none "the wheels are for x86-64"
echo "setup: installing the CUDA compiler into build/cuda (105 MB) ..." >&2
rm -rf build/cuda
mkdir -p build/cuda
log=build/cuda/install.log
if ! { python3 -m venv build/cuda/venv &&
  build/cuda/venv/bin/pip install -q --disable-pip-version-check --retries 1 --no-deps --only-binary :all: --target build/cuda \
    -r setup/cuda_compiler.txt; } >"$log" 2>&1; then
  none "PyPI's wheels could not be installed (build/cuda/install.log says why)"
fi
rm -rf build/cuda/venv
# What nvcc and CMake look for and wheels can't hold.
ln -sfn lib "$toolkit/lib64"
ln -sfn libcudart.so.13 "$toolkit/lib/libcudart.so"
good "$PWD/$toolkit/bin/nvcc" || none "the nvcc of PyPI's wheels does not run here"
echo "$PWD/$toolkit/bin/nvcc"
