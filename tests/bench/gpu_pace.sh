#!/usr/bin/env bash
# gpu_pace.sh CONVLENS OUT_FOLDER [ARGUMENTS OF peers_pytorch.py...]: every figure of docs/performance.md's section "On a GPU" in
# one run of about a minute. Needs an NVIDIA GPU and Python with torch (CUDA), numpy and onnx. Writes OUT_FOLDER/pace.{txt,json}
# and bench-*.json. A benchmark, not a test: it fails only where something can't run.
set -euo pipefail
convlens=$1
out=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
{
  date -u +%Y-%m-%d
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,temperature.gpu,power.draw --format=csv,noheader
  "$convlens" --version
  python3 -B "$here/peers_pytorch.py" "$convlens" --json "$out/pace.json" "$@"
} 2>&1 | tee "$out/pace.txt"
