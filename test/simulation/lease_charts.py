#!/usr/bin/env python3
"""Draws the charts of the simulation by gnuplot: lease_charts.py [--check]. --check draws nothing, needs no gnuplot,
and fails if an .svg was not made from the present columns and script.

gnuplot's output differs between its versions; so each chart contains the digest of its sources.
"""
import argparse
import hashlib
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.normpath(os.path.join(HERE, "../../bench/results"))
CHARTS = {"lease_load": "Requests that come to the registry, and windows that it gives",
          "lease_lead": "How far ids are ahead of true time",
          "lease_recover": "How long until members draw again"}
DIGEST = re.compile(r"<desc>made of ([0-9a-f]{64})</desc>")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def digest(name):
    made_of = read(f"{HERE}/common.gp") + read(f"{HERE}/{name}.gp") + read(f"{RESULTS}/{name}.dat")
    return hashlib.sha256(made_of.encode()).hexdigest()


def draw(name):
    script = f"data = '{RESULTS}/{name}.dat'\nload '{HERE}/common.gp'\nload '{HERE}/{name}.gp'\n"
    svg = subprocess.run(["gnuplot"], input=script, stdout=subprocess.PIPE, text=True, check=True).stdout
    svg = re.sub(r"<title>.*?</title>", f"<title>{CHARTS[name]}</title>", svg, 1, re.S)
    svg = re.sub(r"<desc>.*?</desc>", f"<desc>made of {digest(name)}</desc>", svg, 1, re.S)
    svg = "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"
    with open(f"{RESULTS}/{name}.svg", "w", encoding="utf-8") as file:
        file.write(svg)


def draw_all():
    for name in CHARTS:
        draw(name)


def is_drawn(name):
    path = f"{RESULTS}/{name}.svg"
    found = DIGEST.search(read(path)) if os.path.exists(path) else None
    return found is not None and found[1] == digest(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        draw_all()
        return
    old = [name for name in CHARTS if not is_drawn(name)]
    sys.exit(f"not made of what is beside it: {', '.join(old)}; test/simulation/lease_charts.py draws it anew" if old else 0)


if __name__ == "__main__":
    main()
