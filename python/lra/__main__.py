"""The program `lra`: `python -m lra ARGUMENTS`, and the command `lra` that pip installs."""
import os
import pathlib
import sys

# Where the program is, seen from this folder: in a wheel or after `cmake --install`, in a build folder.
_PLACES = ("program/bin/lra", "../../lra")


def main() -> int:
    """Becomes the program, with the arguments of this process. Returns 2 where there is no program."""
    here = pathlib.Path(__file__).parent
    for program in (here / place for place in _PLACES):
        if program.is_file():
            os.environ["LRA_PYTHON"] = sys.executable  # the launcher takes the torch of this Python
            os.execv(program, ["lra", *sys.argv[1:]])
    print(f"lra: the program is not beside {here}; looked at: {', '.join(_PLACES)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
