#!/usr/bin/env bash
# A real window on a display of its own: opens, takes clicks and keys, shrinks to 200x100 and back, takes a dropped picture by command, and
# closes while the finder measures. Exit status 77: skipped with the reason.
set -uo pipefail
convlens=$1
root=$2
for tool in Xvfb xdotool openbox wmctrl; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
export XDG_CONFIG_HOME=$work/config XDG_RUNTIME_DIR=$work
unset WAYLAND_DISPLAY
for number in $(seq 90 120); do
  [ -e "/tmp/.X11-unix/X$number" ] || break
done
Xvfb ":$number" -screen 0 1680x1000x24 >"$work/xvfb.log" 2>&1 &
xvfb=$!
export DISPLAY=:$number
# Only processes that were started: `kill 0` would end the whole process group, the caller included.
cleanup() {
  for process in $pid $wm $xvfb; do kill "$process" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf "$work"
}
pid=; wm=
trap cleanup EXIT
fail() { echo "FAULT $*"; cat "$work/err" 2>/dev/null; exit 1; }
for _ in $(seq 100); do [ -e "/tmp/.X11-unix/X$number" ] && break; sleep 0.1; done
openbox >"$work/openbox.log" 2>&1 &
wm=$!

"$convlens" view "$root/assets/models/efficientnet-lite0.onnx" --input "$root/assets/photos/chelsea.jpg" --validation \
  --report "$work/report.json" >"$work/out" 2>"$work/err" &
pid=$!
window=
for _ in $(seq 300); do
  window=$(xdotool search --name ConvLens 2>/dev/null | head -n 1)
  [ -n "$window" ] && break
  kill -0 "$pid" 2>/dev/null || fail "the program ended before a window was there"
  sleep 0.1
done
[ -n "$window" ] || fail "no window within 30 s"
alive() { kill -0 "$pid" 2>/dev/null || fail "the program died after: $1"; }
size_is() { eval "$(xdotool getwindowgeometry --shell "$window")"; [ "$WIDTH" = "$1" ] && [ "$HEIGHT" = "$2" ]; }
sleep 2
xdotool windowfocus "$window"
for key in Right Right Right Left Down space space t t m m h h; do xdotool key --window "$window" "$key"; sleep 0.15; done
alive keys
eval "$(xdotool getwindowgeometry --shell "$window")"
for place in "0.30 0.10" "0.45 0.50" "0.85 0.30" "0.20 0.90" "0.70 0.90" "0.10 0.40"; do
  set -- $place
  x=$(awk "BEGIN {print int($WIDTH * $1)}"); y=$(awk "BEGIN {print int($HEIGHT * $2)}")
  xdotool mousemove --window "$window" "$x" "$y" click 1; sleep 0.2
  xdotool click 4; sleep 0.1; xdotool click 5; sleep 0.1
done
alive clicks
for size in "200 100" "1680 980" "640 480" "201 101" "1600 900"; do
  set -- $size
  xdotool windowsize "$window" "$1" "$2"; sleep 0.5
  alive "a resize to $1x$2"
done
xdotool windowsize "$window" 200 100; sleep 0.5
size_is 200 100 || fail "the window did not become 200x100"
xdotool windowsize "$window" 1600 900; sleep 1
xdotool windowminimize "$window"; sleep 0.5; xdotool windowmap "$window"; sleep 0.5
alive minimising
# Click "Measure all" in the algorithm table (its place at 1600x900), then close at once, while the finder measures.
wmctrl -i -a "$window"; sleep 0.5
xdotool mousemove --window "$window" 1267 484 click 1; sleep 0.2
wmctrl -i -c "$window"
for _ in $(seq 150); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
kill -0 "$pid" 2>/dev/null && fail "the program did not end within 15 s of closing its window"
wait "$pid"; status=$?
pid=
[ "$status" = 0 ] || fail "exit status $status after closing"
grep -q '"validation_messages": *0' "$work/report.json" || fail "validation messages, or no report: $(grep validation "$work/report.json")"
# What is remembered: the size, the model, the input.
state=$work/config/convlens/state
for line in width=1600 height=900 "model=.*efficientnet-lite0.onnx"; do
  grep -q "^$line\$" "$state" || fail "the window's state file lacks $line: $(cat "$state")"
done
echo "1 passed, 0 failed"
