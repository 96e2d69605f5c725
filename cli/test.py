"""x."""
HELP = "x"


def configure(parser):
    pass


def run(arguments):
    return 0
