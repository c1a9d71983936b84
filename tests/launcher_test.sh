#!/usr/bin/env bash
# The launcher of a package (scripts/launcher) with stand-ins for the program and for LibTorch: which LibTorch it takes, and
# what it says where none is right.
# usage: launcher_test.sh SOURCE_DIR
set -euo pipefail
source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$source_dir/tests/expect.sh"
unset LRA_LIBTORCH LRA_PYTHON LRA_PROGRAM LD_LIBRARY_PATH PYTHONPATH

package="$work/a package"
mkdir -p "$package/bin" "$package/libexec" "$package/share/lra"
cp "$source_dir/scripts/launcher" "$package/bin/lra"
printf '%s\n' 2.15.0 torch==2.15.0 another==1.2 >"$package/share/lra/libtorch"
cat >"$package/libexec/lra" <<'PROGRAM'
#!/usr/bin/env bash
echo "libraries=$LD_LIBRARY_PATH"
echo "again=$LRA_PROGRAM with $LRA_LIBTORCH"
printf '<%s>' "$@"
exit 7
PROGRAM
chmod +x "$package/libexec/lra"
lra=$package/bin/lra

# What of this machine's Python must not count: its own torch.
mkdir "$work/bin"
printf '#!/bin/sh\nexec %s -S "$@"\n' "$(command -v python3)" >"$work/bin/python3"
chmod +x "$work/bin/python3"
export PATH=$work/bin:$PATH

# wheel FOLDER VERSION: FOLDER/torch, as a wheel has it.
wheel() {
  mkdir -p "$1/torch/lib"
  touch "$1/torch/__init__.py" "$1/torch/lib/libtorch_cpu.so"
  printf "debug = False\n__version__ = '%s'\n" "$2" >"$1/torch/version.py"
}
wheel "$work/right" 2.15.0+cu132
wheel "$work/old" 2.11.0
wheel "$work/nightly" 2.15.0a0+git1234
wheel "$work/longer" 2.15.01
mkdir -p "$work/archive/lib" "$work/unnamed/lib" "$work/empty"
touch "$work/archive/lib/libtorch_cpu.so" "$work/unnamed/lib/libtorch_cpu.so"
echo 2.15.0+cpu >"$work/archive/build-version"

# LibTorch by its own folder, by the one above it, as an archive without Python. The program's exit code is passed on.
expect 7 "^libraries=$work/right/torch/lib$" env LRA_LIBTORCH="$work/right/torch" "$lra"
expect 7 "^libraries=$work/right/torch/lib$" env LRA_LIBTORCH="$work/right" "$lra"
expect 7 "^libraries=$work/archive/lib$" env LRA_LIBTORCH="$work/archive" "$lra"
expect 7 "^libraries=$work/right/torch/lib:/elsewhere$" env LD_LIBRARY_PATH=/elsewhere LRA_LIBTORCH="$work/right" "$lra"
expect 7 '^<two words><><--flag=\*>$' env LRA_LIBTORCH="$work/right" "$lra" "two words" "" '--flag=*'
# Through a link, from another folder, by a relative path.
ln -s "$lra" "$work/link"
expect 7 "^libraries=" env LRA_LIBTORCH="$work/right" "$work/link"
expect 7 "^libraries=$work/right/torch/lib$" env -C "$work" LRA_LIBTORCH=right CDPATH="$work" ./link

# The program learns how a job of a cluster starts it again, and that needs nothing else.
for launcher in "$lra" "$work/link"; do
  expect 7 "^again=$package/bin/lra with $work/right/torch$" env PYTHONPATH="$work/right" "$launcher"
done
expect 7 "^libraries=$work/right/torch/lib$" env -i PATH="$PATH" LRA_LIBTORCH="$work/right/torch" "$lra"

# A folder that was named is the only one that counts.
export PYTHONPATH=$work/right
expect 2 'LibTorch 2\.15\.0 and no other version' env LRA_LIBTORCH="$work/old" "$lra"
expect 2 "LRA_LIBTORCH: version 2\.11\.0 in $work/old/torch$" env LRA_LIBTORCH="$work/old" "$lra"
expect 2 'unset LRA_LIBTORCH' env LRA_LIBTORCH="$work/old" "$lra"
expect 2 "LRA_LIBTORCH: version 2\.15\.0a0 in" env LRA_LIBTORCH="$work/nightly" "$lra"
expect 2 "LRA_LIBTORCH: version 2\.15\.01 in" env LRA_LIBTORCH="$work/longer" "$lra"
expect 2 "LRA_LIBTORCH: version unknown in $work/unnamed" env LRA_LIBTORCH="$work/unnamed" "$lra"
expect 2 "LRA_LIBTORCH: no lib/libtorch_cpu\.so in $work/empty$" env LRA_LIBTORCH="$work/empty" "$lra"
expect 2 "LRA_LIBTORCH: no lib/libtorch_cpu\.so in $work/nowhere$" env LRA_LIBTORCH="$work/nowhere" "$lra"

# Python's torch: the right one, another, none; never one of the working folder.
expect 7 "^libraries=$work/right/torch/lib$" "$lra"
export PYTHONPATH=$work/old
expect 2 "python3's torch: version 2\.11\.0 in $work/old/torch$" "$lra"
unset PYTHONPATH
expect 2 "python3's torch: none$" env -C "$work/right" "$lra"
expect 2 'LRA_LIBTORCH: not set$' "$lra"
expect 2 "$package/libtorch: none$" "$lra"
expect 2 "pip install --no-deps --target '$package/libtorch' torch==2\.15\.0 another==1\.2$" "$lra"
mkdir "$work/broken"
printf '#!/bin/sh\nexit 127\n' >"$work/broken/python3"
chmod +x "$work/broken/python3"
expect 2 "python3's torch: none$" env PATH="$work/broken:$PATH" "$lra"

# A wheel names its Python, whose torch counts instead, and gets that Python's pip.
printf '#!/bin/sh\nPYTHONPATH=%s exec python3 "$@"\n' "$work/right" >"$work/bin/other"
chmod +x "$work/bin/other"
expect 7 "^libraries=$work/right/torch/lib$" env LRA_PYTHON="$work/bin/other" "$lra"
expect 2 "python3's torch: none$" env LRA_PYTHON= PYTHONPATH= "$lra"
expect 2 "^  $work/bin/python3 -m pip install torch==2\.15\.0$" env LRA_PYTHON="$work/bin/python3" "$lra"

# The package's own comes before Python's.
wheel "$package/libtorch" 2.15.0
expect 7 "^libraries=$package/libtorch/torch/lib$" "$lra"
wheel "$package/libtorch" 2.11.0
expect 2 "$package/libtorch: version 2\.11\.0 in" "$lra"
expect 7 "^libraries=$work/right/torch/lib$" env PYTHONPATH="$work/right" "$lra"
# Moved elsewhere, a package still finds its own.
wheel "$package/libtorch" 2.15.0
mv "$package" "$work/moved"
expect 7 "^libraries=$work/moved/libtorch/torch/lib$" "$work/moved/bin/lra"

[ "$failures" = 0 ] && echo "launcher: as expected" || exit 1
