#!/usr/bin/env python3
"""The README's library example compiles against the public headers alone.

    readme_example.py ROOT COMPILER
"""
import pathlib
import re
import subprocess
import sys

root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
block = re.search(r'```cpp\n(.*?)```', (root / 'README.md').read_text(), re.S).group(1)
lines = block.split('\n')
includes = [line for line in lines if line.startswith('#include')]
body = [line for line in lines if not line.startswith('#include')]
source = '\n'.join(['#include <cstdio>', *includes, 'int main() {', *body, '}', ''])
run = subprocess.run([compiler, '-std=c++20', '-Wall', '-fsyntax-only', f'-I{root}/primitives/include', '-x', 'c++', '-'],
                     input=source, capture_output=True, text=True)
print(run.stderr)
print(f'{1 if run.returncode == 0 else 0} passed, {0 if run.returncode == 0 else 1} failed')
sys.exit(run.returncode)
