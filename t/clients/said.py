"""What the Python programs here share."""


def say(name, *values):
    """Prints a line of a result, its name first, for t/lib/Clients.pm."""
    print(name, *values, sep='\t')
