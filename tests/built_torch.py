"""Import this before torch where lra.train is used: it ends the test as skipped (exit code 77) where Python has no torch, or another
version than the build's.
"""
import sys
try:
    import torch
except ImportError as missing:
    print(f"skipped: torch is not installed ({missing}); python3 -m pip install torch numpy")
    sys.exit(77)
from lra import _lra

if torch.__version__.partition("+")[0] != _lra.torch_version:
    print(f"skipped: lra.train takes torch {_lra.torch_version or 'of a wheel'}, here is {torch.__version__}")
    sys.exit(77)
