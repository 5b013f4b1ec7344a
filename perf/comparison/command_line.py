"""What the commands of this folder share on their command lines."""

import argparse

USER_MISTAKE = 1


class Parser(argparse.ArgumentParser):
    """Mistakes end with axrun's exit code for them: argparse's own, 2, is that of damaged models."""

    def __init__(self, program, description, epilog=None):
        super().__init__(prog=program, description=description, epilog=epilog,
                         formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.exit(USER_MISTAKE, "%s: %s; --help says what there is\n" % (self.prog, message))
