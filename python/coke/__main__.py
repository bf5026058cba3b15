"""python -m coke ...: runs the program of this package."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def find_program() -> str:
    """In the package, beside COKE_LIBRARY, or in the PATH."""
    library = os.environ.get("COKE_LIBRARY")
    candidates = [os.path.join(HERE, "bin", "coke")]
    if library:
        candidates.insert(0, os.path.join(os.path.dirname(os.path.abspath(library)), "coke"))
    for path in candidates:
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("coke")
    if found and os.path.realpath(found) != os.path.realpath(sys.argv[0]):
        return found
    raise SystemExit("coke: this installation has no program 'coke'")


def main() -> None:
    program = find_program()
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    main()
