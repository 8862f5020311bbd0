"""What the benchmarks share: options, psql, times, rounds, tables, reports."""
import argparse
import datetime
import os
import re
import statistics
import subprocess
import sys
import textwrap


def options(doc, **defaults):
    """Options: integers with these defaults, and the directory for results."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", required=True, help="folder for results")
    return parser.parse_args()


def psql(sql):
    command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    return subprocess.run(command, input=sql, stdout=subprocess.PIPE, text=True, check=True).stdout


def milliseconds(statements):
    out = psql("\\timing on\n" + ";\n".join(statements) + ";\n")
    return [float(t) for t in re.findall(r"^Time: ([\d.]+) ms", out, re.M)]


def has_uuidv7():
    """Whether the server has uuidv7(), as PostgreSQL from 18 on."""
    return psql("SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'").strip() != "0"


class Results:
    """Values by a key, one per round."""

    def __init__(self):
        self.values = {}

    def add(self, key, value):
        self.values.setdefault(key, []).append(value)

    def median(self, key):
        return statistics.median(self.values[key])

    def spread(self, key):
        """The range of all rounds as a share of the median."""
        values = self.values[key]
        return (max(values) - min(values)) / statistics.median(values)

    def ratio(self, key, other):
        pairs = zip(self.values[key], self.values[other])
        return statistics.median(a / b for a, b in pairs)


def rotated(names, by):
    names = list(names)
    by %= len(names)
    return names[by:] + names[:by]


def quantile(values, share):
    """The smallest value that is at least as large as this share of the values."""
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def progress(number, rounds, text):
    print(f"round {number + 1} of {rounds}: {text}", file=sys.stderr, flush=True)


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * (len(headings) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    return f"{os.cpu_count()} cores of {model[1] if model else 'an unknown processor'}"


def server_version():
    return psql("SHOW server_version").strip().split(" ")[0]


def command(target, **settings):
    """The command that repeats the run."""
    settings = {"PG": os.environ.get("PG"), **settings}
    return " ".join(["make", target] + [f"{name}={value}" for name, value in settings.items() if value])


def conditions(target, settings="default durability", **arguments):
    """The end of a report: the conditions of the measurement, and how to repeat it."""
    return (f"{machine()}; PostgreSQL {server_version()}, {settings}; {datetime.date.today().isoformat()}; "
            f"`{command(target, **arguments)}`.")


def wrapped(line):
    """Wraps the line for a pager, unless it is a row of a table."""
    return line if line.startswith("|") else textwrap.fill(line, 118, break_long_words=False, break_on_hyphens=False)


def write_report(path, lines):
    text = "\n".join(map(wrapped, lines)) + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(text)


# Smaller ratios are noise.
NOTED_FROM = 1.03


def slower(kinds):
    """A sentence on what takes longer, or more, than an alternative. kinds: (label, alternative, ratio)."""
    found = [f"{own} {times:.2f} times {rival}" for own, rival, times in kinds if times >= NOTED_FROM]
    return (f"Slower than an alternative: {'; '.join(found)}." if found else
            f"Slower than an alternative: nothing by more than {NOTED_FROM - 1:.0%}.").replace("**", "")
