#!/bin/sh
# with_venv.sh PYTHON SCRIPT...: runs the script with that Python, or says why not and exits with 77 (skipped).
python=$1; shift
if [ ! -x "$python" ]; then echo "skipped: $python is not there; ./test makes it where PyPI can be reached"; exit 77; fi
# Old OpenBLAS core overrides slow numpy and are meant for other programs.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
exec "$python" "$@"
