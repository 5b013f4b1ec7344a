#!/bin/sh
# Installs a build into an empty folder, moves that folder, and builds and runs two programs against it: C++ through the
# CMake package, C through pkg-config. Usage: install_test.sh BUILD SOURCE
set -eu
build=$1
source=$2
export AXRUN_CACHE=off
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Whatever is installed is made by `scripts/build product`, as README.md has it: that nothing else was built does not matter.
ninja -C "$build" -t commands product > "$work/commands"
for file in $(grep -ohE "\"$build/[^\"\$]*\"" "$build/cmake_install.cmake" | tr -d '"' | sort -u); do
  made=${file#"$build"/}
  case $made in
    include/* | CMakeFiles/* | *.cmake | axrun.pc) continue ;;  # by cmake itself
    */axrun.1 | */axrun.bash-completion) made=make_manual.py ;;
  esac
  grep -qF "$made" "$work/commands" || { echo "scripts/build product does not make $file"; exit 1; }
done

cmake --install "$build" --prefix "$work/first" > "$work/install.log"
# Nothing may remember where it was first.
mv "$work/first" "$work/prefix"
prefix=$work/prefix

"$prefix/bin/axrun" --version
"$prefix/bin/axrun" --cache-dir "$work/model" --runs 1 --quiet
model=$(echo "$work"/model/*.onnx)

# Nothing but axrun's own is exported, under a version.
foreign=$(nm -D --defined-only "$prefix/lib/libaxrun.so" | awk '{print $3}' |
  grep -vE '^(axrun_[a-z0-9_]*|_Z(N|NK|TIN|TSN|TVN)5axrun.*)@@AXRUN_0$|^AXRUN_0$' || true)
[ -z "$foreign" ] || { echo "libaxrun exports: $foreign"; exit 1; }

# The manual page and the completion say what --help says.
grep -q '^.SH EXIT CODES' "$prefix/share/man/man1/axrun.1"
grep -q 'budget S' "$prefix/share/man/man1/axrun.1"
bash -c '. "$1" && COMP_WORDS=(axrun expl) COMP_CWORD=1 && _axrun && [ "${COMPREPLY[*]}" = explain ] &&
  COMP_WORDS=(axrun --thr) && _axrun && [ "${COMPREPLY[*]}" = --threads ]' - "$prefix/share/bash-completion/completions/axrun"

# The command finds the worker program where it was moved to.
AXRUN_OPTIMIZER_PRIORITY=normal "$prefix/bin/axrun" "$model" --budget 60 --runs 1 --json --quiet > "$work/record.json"
grep -q '"worker_starts":1,' "$work/record.json" || { cat "$work/record.json"; exit 1; }

# ONNX Runtime's plugin and the worker program lie in one folder.
for file in libaxrun_onnxruntime.so axrun-worker; do
  [ -e "$prefix/lib/$file" ] || { echo "lib/$file is not installed"; exit 1; }
done

for file in LICENSE NOTICE; do
  cmp "$source/$file" "$prefix/share/doc/axrun/$file"
done

cmake -S "$source/tests/install/cpp_program" -B "$work/cpp" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.log"
cmake --build "$work/cpp" > "$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
"$work/cpp/uses_axrun" "$model"

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
pkg-config --modversion axrun
# Unquoted: pkg-config prints several arguments.
cc -std=c99 -Wall -Wextra -Werror -pedantic "$source/tests/install/c_program/main.c" -o "$work/c_program" \
  $(pkg-config --cflags --libs axrun)
LD_LIBRARY_PATH="$prefix/lib" "$work/c_program" "$model"
echo "the installed form works"
