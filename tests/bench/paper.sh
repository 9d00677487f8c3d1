#!/usr/bin/env bash
# paper.sh CONVLENS OUT_FOLDER [ARGUMENTS OF paper.py...]: the figures of docs/paper.md in one run: on a machine with an NVIDIA GPU
# there, in about a minute, else on the processor. Needs Python with torch (CUDA) or numpy. A benchmark, not a test.
set -euo pipefail
convlens=$1
out=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
backend=(--backend cpu --images 16)
if command -v nvidia-smi > /dev/null && nvidia-smi > /dev/null 2>&1; then
  backend=(--backend cuda --images 256 --seconds 0.1)
fi
{
  date -u +%Y-%m-%d
  "$convlens" --version
  "$convlens" info | grep -E '^(cpu|cuda|peer)' || true
  python3 -B "$here/paper.py" "$convlens" "$out" "${backend[@]}" "$@"
} 2>&1 | tee "$out/paper.txt"
