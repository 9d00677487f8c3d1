#!/usr/bin/env python3
"""Approved pictures of the window.

    golden.py CONVLENS [NAME...]             compares; on failure writes NAME.actual.png and NAME.difference.png to --out
    golden.py CONVLENS --approve [NAME...]   approves what is drawn now (look at it first)

Each tests/golden/NAME.script is a window script; its head says what is opened:
    #: model face-finder     (of assets/models)
    #: input astronaut.jpg   (of assets/photos, or pattern:...)
    #: size 1600x900
    #: frames 40
A picture passes when at most 0.2 % of its pixels differ by more than 24 of 255 in a channel, and the mean difference is below 0.75.
Glyphs and software Vulkan draw otherwise in other versions: on a system whose versions are not those of environment.txt the comparison is
skipped with the reason, and the scripts are run all the same.
With --elsewhere they are compared all the same, within a wider bound (3 % of the pixels, mean difference 2.5): a GPU's Vulkan, or --backend cuda,
whose numbers differ by rounding and whose device and algorithms have other names.
Exit status: 0 passed, 1 failed, 77 skipped.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from PIL import Image
except ImportError as error:
    print(f'skipped: {error}: tests/requirements.txt is not installed')
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = ['mesa-vulkan-drivers', 'libimgui-dev', 'libstb-dev', 'fonts-inter', 'fonts-jetbrains-mono']
MAX_SHARE, MAX_CHANNEL, MAX_MEAN = 0.002, 24, 0.75
ELSEWHERE_SHARE, ELSEWHERE_MEAN = 0.03, 2.5


def environment():
    shown = subprocess.run(['dpkg-query', '-W', '-f', '${Package} ${Version}\n', *PACKAGES], capture_output=True, text=True)
    return shown.stdout


def head(script):
    values = {'model': 'efficientnet-lite0', 'input': 'chelsea.jpg', 'size': '1600x900', 'frames': '40'}
    for line in script.read_text().split('\n'):
        if line.startswith('#:'):
            key, _, value = line[2:].strip().partition(' ')
            values[key] = value
    return values


def draw(convlens, script, picture, backend):
    values = head(script)
    source = values['input'] if values['input'].startswith('pattern:') else str(ROOT / 'assets/photos' / values['input'])
    command = [convlens, 'view', str(ROOT / 'assets/models' / f'{values["model"]}.onnx'), '--input', source, '--size', values['size'],
               '--headless', '--sync', '--frames', values['frames'], '--script', str(script), '--screenshot', str(picture),
               '--threads', '2', '--backend', backend]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def differs(approved, actual, most_share, most_mean):
    """A reason, or nothing; and the picture of the difference."""
    a = np.asarray(Image.open(approved).convert('RGB'), dtype=np.int16)
    b = np.asarray(Image.open(actual).convert('RGB'), dtype=np.int16)
    if a.shape != b.shape:
        return f'size {b.shape[1]}x{b.shape[0]}, approved {a.shape[1]}x{a.shape[0]}', None
    difference = np.abs(a - b)
    share = float((difference.max(axis=2) > MAX_CHANNEL).mean())
    mean = float(difference.mean())
    reason = None
    if share > most_share or mean > most_mean:
        reason = f'{share * 100:.3f} % of the pixels differ by more than {MAX_CHANNEL}, mean difference {mean:.3f}'
    return reason, Image.fromarray(np.clip(difference * 4, 0, 255).astype(np.uint8))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('convlens')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--approve', action='store_true')
    parser.add_argument('--elsewhere', action='store_true')
    parser.add_argument('--backend', default='cpu')
    parser.add_argument('--out', type=pathlib.Path, default=ROOT / 'out' / 'golden')
    args = parser.parse_args()
    known = (HERE / 'environment.txt').read_text() if (HERE / 'environment.txt').exists() else ''
    same_environment = args.elsewhere or environment() == known
    bound = (ELSEWHERE_SHARE, ELSEWHERE_MEAN) if args.elsewhere else (MAX_SHARE, MAX_MEAN)
    scripts = [s for s in sorted(HERE.glob('*.script')) if not args.names or s.stem in args.names]
    failed, compared = 0, 0
    args.out.mkdir(parents=True, exist_ok=True)
    for script in scripts:
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder) / 'picture.png'
            run = draw(args.convlens, script, picture, args.backend)
            if run.returncode != 0 or not picture.exists():
                print(f'{script.stem}: exit status {run.returncode}: {run.stderr.strip()}')
                failed += 1
                continue
            approved = HERE / f'{script.stem}.png'
            if args.approve:
                image = Image.open(picture).convert('RGB')
                image.save(approved, optimize=True)
                print(f'{script.stem}: approved')
                continue
            if not same_environment:
                continue
            if not approved.exists():
                print(f'{script.stem}: no approved picture; look at it, then golden.py --approve {script.stem}')
                failed += 1
                continue
            compared += 1
            reason, difference = differs(approved, picture, *bound)
            if reason:
                Image.open(picture).save(args.out / f'{script.stem}.actual.png')
                if difference:
                    difference.save(args.out / f'{script.stem}.difference.png')
                print(f'{script.stem}: {reason}; see {args.out}/{script.stem}.actual.png and .difference.png')
                failed += 1
            else:
                print(f'{script.stem}: as approved')
    if args.approve:
        (HERE / 'environment.txt').write_text(environment())
        return 1 if failed else 0
    if failed:
        return 1
    if not same_environment:
        print(f'skipped: approved with other versions of {", ".join(PACKAGES)}; the {len(scripts)} scripts ran')
        return 77
    return 0


if __name__ == '__main__':
    sys.exit(main())
