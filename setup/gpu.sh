#!/usr/bin/env bash
# gpu.sh: prints the architectures (as CMake names them) of this machine's NVIDIA GPUs, "unknown" where the driver is there and does not
# say, nothing where there is no NVIDIA GPU.
set -euo pipefail
[ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidiactl ] || command -v nvidia-smi >/dev/null || exit 0
capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+\.[0-9]+$' | sort -u || true)
if [ -z "$capabilities" ]; then
  # nvidia-smi alone is no GPU.
  if [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidiactl ]; then echo unknown; fi
  exit 0
fi
list=
for capability in $capabilities; do
  case $capability in
    9.0) name=90a-real ;;  # wgmma
    [1-6].* | 7.[0-4]) continue ;;  # older than the library's kernels
    *) name=${capability/./}-real ;;
  esac
  list=${list:+$list;}$name
done
echo "${list:-75-virtual}"
