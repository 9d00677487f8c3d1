#!/usr/bin/env bash
# install.sh GROUP...: installs the packages of these groups of setup/packages.txt that are missing.
# Says what it does; does nothing (in a few milliseconds) when all are there. CONVLENS_NO_INSTALL=1: only tells.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

names=()
for group in "$@"; do
  while read -r name; do names+=("$name"); done \
    < <(awk -v group="$group" '!/^#/ && $2 == group {print $1}' "$here/packages.txt")
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this system has no dpkg; install the counterparts of these packages by hand: ${names[*]}" >&2
  exit 0
fi

# Ubuntu 24.04 names the same JPEG library otherwise.
if [ "$(. /etc/os-release && echo "$ID")" = ubuntu ]; then
  names=("${names[@]/libjpeg62-turbo-dev/libjpeg-turbo8-dev}")
fi

installed=$(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "${names[@]}" 2>/dev/null | awk '/^ii/ {print $2}' || true)
missing=()
for name in "${names[@]}"; do
  grep -qxF "$name" <<<"$installed" || missing+=("$name")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "setup: ${#missing[@]} packages are missing: ${missing[*]}"
if [ -n "${CONVLENS_NO_INSTALL:-}" ]; then
  echo "setup: CONVLENS_NO_INSTALL is set: install them by hand" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: installing needs root or sudo; as root: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
install_missing() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${missing[@]}" >"$log" 2>&1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${as_root[@]}" apt-get update -qq || echo "setup: the package lists could not be brought up to date; going on with the old ones" >&2
echo "setup: installing (about a minute) ..."
if ! install_missing; then
  tail -n 20 "$log" >&2
  echo "setup: apt-get could not install them; the lines above say why" >&2
  exit 1
fi
