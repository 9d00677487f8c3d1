#!/usr/bin/env python3
"""The house's rules that a program can check: who includes whom, which room knows which library, how long a file is.

    layering.py [ROOT]      exit status 1 with one line for each breach
"""
import pathlib
import re
import subprocess
import sys

# Lower rooms first. A room may include itself and the rooms named for it, nothing else.
MAY_INCLUDE = {
    'kernels/common': set(),
    'kernels/cpu': {'kernels/common'},
    'kernels/cuda': {'kernels/common'},
    'primitives': {'kernels/common', 'kernels/cpu', 'kernels/cuda'},
    'app/input': {'primitives'},
    'app/network': {'primitives', 'kernels/common', 'kernels/cpu'},
    'app/measure': {'app/network', 'primitives', 'kernels/common', 'kernels/cpu'},
    'app/engine': {'app/measure', 'app/network', 'app/input', 'primitives', 'kernels/common', 'kernels/cpu'},
    'app/commands': {'app/engine', 'app/measure', 'app/network', 'app/input', 'primitives'},
    'app/render': {'app/network', 'primitives', 'shaders'},
    'app/interop': {'app/render', 'app/network', 'primitives'},
    'app/ui': {'app/render', 'app/commands', 'app/engine', 'app/measure', 'app/network', 'app/input', 'primitives'},
    'app/cli': {'app/ui', 'app/interop', 'app/render', 'app/commands', 'app/engine', 'app/measure', 'app/network',
                'app/input', 'primitives', 'kernels/common', 'kernels/cpu'},
}
# Libraries that only these rooms may name.
ONLY_IN = [
    (re.compile(r'vulkan|volk'), {'app/render', 'app/interop'}),
    (re.compile(r'^cuda|cuda_runtime'), {'kernels/cuda', 'app/interop', 'primitives'}),
    (re.compile(r'imgui'), {'app/ui', 'app/render', 'app/cli'}),
    (re.compile(r'GLFW'), {'app/render'}),
    (re.compile(r'onnx/|google/protobuf'), {'app/network'}),
    (re.compile(r'CLI/CLI'), {'app/cli'}),
    (re.compile(r'stb/|^stb_|jpeglib|turbojpeg'), {'app/input'}),
]
# Files that hand ImGui over without drawing with it.
MAX_LINES = 620
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def room_of(path):
    """The room that a path (relative to the root, or as included) lies in, or None."""
    if path.startswith('convlens/'):
        return 'primitives'
    for room in sorted(MAY_INCLUDE, key=len, reverse=True):
        if path.startswith(room + '/'):
            return room
    return 'shaders' if path.startswith('shaders/') else None


def breaches(root):
    listed = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=root, capture_output=True, text=True)
    files = listed.stdout.split('\n') if listed.returncode == 0 else [
        str(p.relative_to(root)) for p in root.rglob('*')]
    for name in files:
        if not name.endswith(('.h', '.hpp', '.cpp', '.cu', '.cuh', '.py', '.glsl', '.comp', '.vert', '.frag')):
            continue
        path = root / name
        if not path.is_file() or name.startswith('build/'):
            continue
        lines = path.read_text(encoding='utf-8', errors='replace').split('\n')
        if len(lines) > MAX_LINES:
            yield f'{name}: {len(lines)} lines, above {MAX_LINES}: split it'
        room = room_of(name)
        if room is None or room == 'shaders' or not name.endswith(('.h', '.hpp', '.cpp', '.cu', '.cuh')):
            continue
        public = name.startswith('primitives/include/')
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            target = found.group(1)
            other = room_of(target)
            if other is not None and other != room and other not in MAY_INCLUDE[room]:
                yield f'{name}:{number}: {room} must not include {target} of {other}'
            if public and other is not None and not target.startswith('convlens/'):
                yield f'{name}:{number}: a public header must include public headers only, not {target}'
            for pattern, rooms in ONLY_IN:
                if other is None and pattern.search(target) and room not in rooms:
                    yield f'{name}:{number}: {target} may be included only in {", ".join(sorted(rooms))}'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else '.').resolve()
    found = list(breaches(root))
    for breach in found:
        print(breach)
    print(f'{len(found)} breaches')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
