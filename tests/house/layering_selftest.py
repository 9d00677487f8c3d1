#!/usr/bin/env python3
"""The layering test finds a breach of each kind in a tree made for that."""
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name('layering.py')
CASES = {
    'kernels/cpu/a.cpp': ('#include "convlens/plan.h"\n', 'must not include convlens/plan.h'),
    'app/network/b.cpp': ('#include "app/ui/ui.h"\n', 'must not include app/ui/ui.h'),
    'app/ui/c.cpp': ('#include <vulkan/vulkan.h>\n', 'may be included only in'),
    'primitives/include/convlens/d.h': ('#include "kernels/cpu/machine.h"\n', 'public headers only'),
    'app/engine/e.cpp': ('#include <imgui.h>\n', 'may be included only in'),
    'app/cli/f.cpp': ('\n' * 700, 'split it'),
    'app/render/g.cpp': ('#include <cuda_runtime.h>\n', 'may be included only in'),
}
failed = 0
for name, (text, wanted) in CASES.items():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        run = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)
        if run.returncode != 1 or wanted not in run.stdout:
            print(f'{name}: breach not found: {run.stdout}{run.stderr}')
            failed += 1
print(f'{len(CASES) - failed} passed, {failed} failed')
sys.exit(1 if failed else 0)
