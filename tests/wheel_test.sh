#!/usr/bin/env bash
# A wheel (scripts/package --wheel) in a bare Debian with Python: pip installs it, the command, `python -m lra` and `import lra` work
# without network and without $LRA_CONFIGS.
# usage: wheel_test.sh SOURCE_DIR BUILD_DIR
# LRA_PYPI=1: pip fetches PyTorch with all that it requires (5 GB on disk). Otherwise the build's own takes its place.
set -euo pipefail
source_dir=$1 build=$2
compgen -G "$build/python/lra/_lra.*.so" >/dev/null || { echo "skipped: the build is not one with -DLRA_PYTHON=ON"; exit 77; }
source "$source_dir/tests/bare_system.sh"
venv=/opt/venv/bin

# Puts the wheel into an environment of the bare system, beside torch and NumPy.
install_wheel() {
  cp "$wheel" "$root/root"
  if [ -n "${LRA_PYPI:-}" ]; then
    in_bare_system python3 -m venv /opt/venv
    with_network $venv/pip install -q "/root/$(basename "$wheel")"
  else
    in_bare_system python3 -m venv --system-site-packages /opt/venv
    echo /opt/wheel >"$(echo "$root"/opt/venv/lib/python3*/site-packages)/torch.pth"
    in_bare_system $venv/pip install -q --no-index --no-deps "/root/$(basename "$wheel")"
  fi
}

wheel=$("$source_dir/scripts/package" --build "$build" --wheel "$work/wheels")
[ "$(ls "$work/wheels")" = "$(basename "$wheel")" ] || { ls "$work/wheels"; exit 1; }
make_bare_system python3,python3-venv,python3-numpy,ca-certificates
install_wheel

torch_version=$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$torch/version.py")
expect_there "^\['numpy', 'torch==$torch_version'" $venv/python -c 'import importlib.metadata as m; print(m.requires("lra-arena"))'
expect_there '^lra 0' $venv/lra --version
expect_there '  cosformer ' $venv/python -m lra list attentions
use_there $venv/lra
expect_there 'unknown preset "smok"; did you mean "smoke"' bash -c "! $venv/python -m lra config --task listops --attention linear --preset smok"
# The module's configurations are the wheel's, and its libraries are its own, whatever else the process loads.
expect_there '^cosformer 2$' $venv/python -c '
import lra
config = lra.Config("listops", "cosformer", preset="small", set={"train.steps": 2})
print(config["attention.name"], config["train.steps"])'
expect_there '^\[1, 2\]$' $venv/python -c '
import lra, ssl
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
count = lambda name: sum(name in path for path in loaded)
print([count("lra/program/lib/libprotobuf"), count("libcrypto")])'
expect_there '^16 [0-9]$' $venv/python -c '
import lra
data = lra.open("listops")
print(len(data["test"]), data["test"][0][1])'

# The trainer in Python takes a PyTorch that can be imported: with its own requirements.
if [ -n "${LRA_PYPI:-}" ]; then
  expect_there '^python-mean 16$' $venv/python -c '
import lra
config = lra.Config("listops", preset="smoke", set={"train.steps": 2, "train.eval_every_steps": 2})
mean = lambda q, k, v, keep: v.masked_fill(~keep[:, None, :, None], 0).mean(2, True).expand_as(v)
run = lra.train(config, lambda *sizes: mean, name="mean", out="/root/python-run", quiet=True)
print(run.method, run.scores["test"]["examples"])'
fi

# Another version of torch is refused with the command that installs the right one.
mkdir "$root/opt/torch"
printf "__version__ = '1.0.0'\n" >"$root/opt/torch/version.py"
mkdir "$root/opt/torch/lib" && touch "$root/opt/torch/__init__.py" "$root/opt/torch/lib/libtorch_cpu.so"
expect_there "venv/bin/python3? -m pip install torch==$torch_version" bash -c "! PYTHONPATH=/opt $venv/lra --version"

in_bare_system $venv/pip uninstall -q -y lra-arena
left=$(find "$root"/opt/venv -path '*lra*' ! -name '*.pyc' ! -name __pycache__ | head)
[ -z "$left" ] || { echo "pip left: $left"; exit 1; }
echo "the wheel runs in a bare system: $(du -sh "$wheel" | cut -f 1)"
