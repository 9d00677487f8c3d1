#!/usr/bin/env bash
# Draws the README's pictures from the scripts beside this file. Times are measured: run it on a machine that does nothing else.
# Where Python has Pillow (build/venv after ./test) the files are made smaller.
set -euo pipefail
cd "$(dirname "$0")/../.."
convlens=${1:-build/release/convlens}
python=build/venv/bin/python
[ -x "$python" ] || python=python3
draw() {  # NAME MODEL INPUT
  "$convlens" view "assets/models/$2.onnx" --input "assets/photos/$3" --headless --size 1600x900 --frames 80 \
    --script "docs/pictures/$1.script" --screenshot "docs/pictures/$1.png"
  "$python" - "docs/pictures/$1.png" <<'END' || echo "$1.png stays as large as it is"
import os, sys
from PIL import Image
picture = Image.open(sys.argv[1]).convert('RGB')
picture.save(sys.argv[1], optimize=True)
if os.path.getsize(sys.argv[1]) > 600_000:
    picture.quantize(256, kmeans=1).save(sys.argv[1], optimize=True)
END
}
draw window efficientnet-lite0 chelsea.jpg
draw face-finder face-finder astronaut.jpg
draw upscale2x upscale2x-photo chelsea.jpg
