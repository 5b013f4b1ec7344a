"""The axrun command: `axrun` and `python -m axrun` become the program that the package carries."""

import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")


def main() -> None:
    program = os.path.join(FOLDER, "axrun")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
