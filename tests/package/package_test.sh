#!/usr/bin/env bash
# package_test.sh BUILD SOURCE CC CXX: installs BUILD's library into a scratch prefix, moves that, and uses it as somebody who
# has nothing else of this project: headers in several standards, the examples by find_package (shared and static) and by
# pkg-config, a project without C++, versions, exported symbols, CONVLENS_LOG.
set -euo pipefail
build=$1 source=$2 CC=$3 CXX=$4
export CC CXX
unset LD_LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH CONVLENS_LOG
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
step() { echo "package: $*"; }
fail() { echo "package: FAILED: $*" >&2; exit 1; }

step "install, and move the installed tree"
cmake --install "$build" --prefix "$scratch/first" >install.log || { cat install.log; fail "cmake --install"; }
mv first prefix
lib=$(dirname "$(find prefix -name libconvlens.so | head -n 1)")
version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$lib/cmake/convlens/convlens-config-version.cmake")
export CMAKE_PREFIX_PATH=$scratch/prefix PKG_CONFIG_PATH=$scratch/$lib/pkgconfig CMAKE_GENERATOR=Ninja

# The static library wants the toolkit that it was built with, wherever that lies.
nvcc=$(sed -n 's/^set(CMAKE_CUDA_COMPILER "\(.*\)")/\1/p' "$build"/CMakeFiles/*/CMakeCUDACompiler.cmake 2>/dev/null || true)
if [ -n "$nvcc" ]; then CUDAToolkit_ROOT=$(dirname "$(dirname "$nvcc")") && export CUDAToolkit_ROOT; fi

step "headers"
warnings="-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"
printf '#include <convlens/convlens.h>\nint main(void) { return convlens_convolution_default().mode; }\n' >c.c
for standard in c99 c11 c17; do $CC -std=$standard $warnings -fsyntax-only -Iprefix/include c.c; done
for standard in c++11 c++17 c++20; do $CXX -std=$standard $warnings -fsyntax-only -Iprefix/include -x c++ c.c; done
for header in prefix/include/convlens/*; do
  echo "#include <convlens/$(basename "$header")>" >one.cpp
  $CXX -std=c++20 -Wall -Wextra -Werror -fsyntax-only -Iprefix/include one.cpp || fail "$header does not stand alone"
done

step "exported symbols"
nm -D --defined-only "$lib/libconvlens.so" | awk '{print $3}' | sed 's/@.*//' >symbols
grep -q '^convlens_plan_execute$' symbols || fail "the C interface is not exported"
grep -q '^_ZN8convlens9make_plan' symbols || fail "the C++ interface is not exported"
if grep -Ev '^(convlens_|_ZNK?8convlens|_ZT[ISV]N8convlens)' symbols; then fail "these symbols are not the library's"; fi
if grep -E '8convlens(3cpu|4cuda|7kernels|1c|6Device|12_GLOBAL__N_1)' symbols; then fail "these symbols are not public"; fi
# Every function that the C headers declare is there.
cat prefix/include/convlens/*.h | tr '\n' ' ' | grep -oE 'CONVLENS_API [a-z_0-9 *]*convlens_[a-z_0-9]+\(' |
  grep -oE 'convlens_[a-z_0-9]+\($' | tr -d '(' | sort -u >declared
[ "$(wc -l <declared)" -gt 40 ] || fail "only $(wc -l <declared) functions were found in the headers"
sort -u symbols | comm -23 declared - >missing
[ ! -s missing ] || fail "declared, not defined: $(tr '\n' ' ' <missing)"

run_examples() {  # FOLDER BACKEND
  "$1/convolution" "$2" >convolution.txt 2>errors.txt || { cat convolution.txt errors.txt; fail "$1/convolution $2"; }
  [ ! -s errors.txt ] || fail "convolution prints to standard error: $(cat errors.txt)"
  for name in convolution convolution_bwd_data convolution_bwd_filter; do
    grep -qx "$name" convolution.txt || fail "$1/convolution says nothing of $name"
  done
  grep -q "^ConvLens $version on " convolution.txt || fail "the version is not $version: $(head -n 1 convolution.txt)"
  "$1/finder" "$2" >finder.txt || { cat finder.txt; fail "$1/finder $2"; }
  grep -q '37.0000, it should be 37.0000' finder.txt || { cat finder.txt; fail "finder's result is wrong"; }
}
backends=cpu
if [ -e /dev/nvidia0 ] && grep -q 'HAS_CUDA ON' "$lib/cmake/convlens/convlens-config.cmake"; then backends="cpu cuda"; fi
for link in shared static; do
  step "examples, find_package, $link"
  cmake -S "$source/examples" -B "$link" -DCMAKE_BUILD_TYPE=Release -DCONVLENS_LINK=$link >log 2>&1 || { cat log; fail configure; }
  cmake --build "$link" >log 2>&1 || { cat log; fail build; }
  for backend in $backends; do run_examples "$link" "$backend"; done
  if readelf -d "$link/convolution" | grep -q libconvlens; then [ $link = shared ] || fail "static uses the shared library"
  else [ $link = static ] || fail "shared does not use the shared library"; fi
done

if command -v make >/dev/null; then
  step "examples, pkg-config"
  cp -r "$source/examples" make
  make -C make >log 2>&1 || { cat log; fail make; }
  LD_LIBRARY_PATH=$lib run_examples make cpu
else
  step "examples, pkg-config: left out, there is no make"
fi
[ "$(pkg-config --modversion convlens)" = "$version" ] || fail "pkg-config names another version"

step "a project without C++"
mkdir only_c
cp "$source/examples/convolution.c" only_c/
for link in shared static; do
  cat >only_c/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(only_c LANGUAGES C)
find_package(convlens REQUIRED COMPONENTS $link)
add_executable(convolution convolution.c)
target_link_libraries(convolution PRIVATE convlens::primitives m)
END
  { cmake -S only_c -B "c_$link" && cmake --build "c_$link"; } >log 2>&1 || { cat log; fail "C alone, $link"; }
  "c_$link/convolution" >/dev/null || fail "C alone, $link: run"
done

step "versions"
mkdir version
for asked in "${version%.*}" "$version"; do
  printf 'cmake_minimum_required(VERSION 3.16)\nproject(v LANGUAGES CXX)\nfind_package(convlens %s REQUIRED)\n' "$asked" >version/CMakeLists.txt
  cmake -S version -B "version/$asked" >log 2>&1 || { cat log; fail "version $asked is refused"; }
done
for asked in 99.0 "${version%%.*}.99"; do
  printf 'cmake_minimum_required(VERSION 3.16)\nproject(v LANGUAGES CXX)\nfind_package(convlens %s REQUIRED)\n' "$asked" >version/CMakeLists.txt
  if cmake -S version -B "version/$asked" >log 2>&1; then fail "version $asked is accepted"; fi
done

step "CONVLENS_LOG"
CONVLENS_LOG=plan shared/convolution 2>log.txt >/dev/null
for text in 'convlens plan: convolution src f32 2x16x20x28 packed' 'convlens plan: convolution_bwd_filter' 'no: ' '-> '; do
  grep -qF -- "$text" log.txt || { cat log.txt; fail "CONVLENS_LOG=plan does not print '$text'"; }
done
CONVLENS_LOG=other shared/convolution 2>log.txt >/dev/null
[ ! -s log.txt ] || fail "CONVLENS_LOG=other prints something"
echo "package: all steps passed"
