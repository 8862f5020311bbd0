#!/usr/bin/env python3
"""Draws the charts of results: chart.py [--check] FILE.md...: next to each bench.md and index.md its .svg.
--check draws nothing, and fails if an .svg does not match its results.

Bars start at zero and have one scale per panel. Each chart has its own background, since the page around it may be
light while the reader's system is dark.
"""
import argparse
import os
import re
import sys
import textwrap
from html import escape

WIDTH = 860
MARGIN = 24
BARS_AT = 330
BARS_END = WIDTH - 120
BAR = 18
STEP = 26
FOOT_COLUMNS = 135

STYLE = """
  text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px }
  .note, .foot { fill: #59636e }
  .foot { font-size: 11px }
  .ours { font-weight: 600 }
  .page { fill: #ffffff; stroke: #d1d9e0 }
  .bar { fill: #afb8c1 }
  .more { fill: #d8dee4 }
  .ours-bar { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .note, .foot { fill: #9198a1 }
    .page { fill: #0d1117; stroke: #3d444d }
    .bar { fill: #656c76 }
    .more { fill: #3d444d }
    .ours-bar { fill: #58a6ff }
  }
"""


class Panel:
    """One table's bars: title, note, words of the table's first heading, column, and the names of rows by their
    labels; without names all rows. on_top: a second column, drawn on top of the first."""

    def __init__(self, title, note, table, column, names=None, on_top=None):
        self.title, self.note, self.table, self.column, self.names, self.on_top = title, note, table, column, names, on_top


NS_NOTE = "ns per call in one session, net of the loop; shorter is better"

CHARTS = {
    "bench": [
        Panel("One call per transaction, 16 sessions", "transactions per second; longer is better",
              "One call per transaction", "tps",
              {"next_id": "next_id", "nextval": "nextval", "nextval, CACHE 100": "nextval, CACHE 100",
               "PL/pgSQL recipe": "PL/pgSQL recipe", "gen_random_uuid": "gen_random_uuid", "uuidv7": "uuidv7"}),
        Panel("An id, in a loop", NS_NOTE, "In a loop", "ns per call, net",
              {"next_id, room in the layout (20 bits of sequence)": "next_id, 20 bits of sequence",
               "next_id, default layout (at most 1,024,000/s)": "next_id, default layout (at its rate limit)",
               "nextval": "nextval", "nextval, CACHE 100": "nextval, CACHE 100", "PL/pgSQL recipe": "PL/pgSQL recipe",
               "gen_random_uuid": "gen_random_uuid", "uuidv7": "uuidv7"}),
        Panel("A UUID of version 1, built and read, in a loop", NS_NOTE, "In a loop", "ns per call, net",
              {"uuid_v1_from": "uuid_v1_from", "PL/pgSQL form_uuid_v1": "PL/pgSQL recipe that builds",
               "uuid_v1_timestamp": "uuid_v1_timestamp", "SQL uuid_v1_timestamp": "SQL recipe that reads"}),
    ],
    "index": [
        Panel("Index of the primary key, one session", "bytes per row; shorter is better", "Primary key, ", "index, bytes per row"),
        Panel("The same by 16 sessions, able to find rows by time",
              "bytes per row: the key's index, and a second one where the key has no time; shorter is better", "by 16 sessions at once",
              "index, bytes per row", on_top="second index for the time, bytes per row"),
    ],
}

# Not every server has these.
MAY_BE_MISSING = {"uuidv7"}


class Bar:
    def __init__(self, name, is_ours, cells):
        self.name, self.is_ours, self.cells = name, is_ours, cells
        self.values = [float(re.sub("[<, ]", "", cell)) for cell in cells]


def plain(cell):
    return re.sub(r"[`*]", "", cell)


def tables(text):
    """The Markdown tables: lists of rows, the heading first, without the line below it."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    rows = [[[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()] for block in blocks]
    return [[table[0]] + table[2:] for table in rows]


def bars_of(panel, text):
    table = next(table for table in tables(text) if panel.table in table[0][0])
    columns = [table[0].index(column) for column in (panel.column, panel.on_top) if column]
    found = {plain(row[0]): Bar(plain(row[0]), row[0].startswith("**"), [row[c] for c in columns if row[c]])
             for row in table[1:]}
    if not panel.names:
        return list(found.values())
    missing = [label for label in panel.names if label not in found and label not in MAY_BE_MISSING]
    if missing:
        raise SystemExit(f"not in the table \"{table[0][0]}\": {', '.join(missing)}")
    for label, bar in found.items():
        bar.name = panel.names.get(label, label)
    return [found[label] for label in panel.names if label in found]


def element(kind, content="", **attributes):
    written = "".join(f' {name.rstrip("_").replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<{kind}{written}>{escape(content)}</{kind}>" if content else f"<{kind}{written}/>"


def draw_bar(bar, scale, y):
    middle = y + BAR - 5
    lines = [element("text", bar.name, class_="ours" if bar.is_ours else "name", x=BARS_AT - 10, y=middle, text_anchor="end")]
    x = BARS_AT
    for value, class_ in zip(bar.values, ("ours-bar" if bar.is_ours else "bar", "more")):
        # So that very small values are visible.
        width = max(1.5, value * scale)
        lines.append(element("rect", class_=class_, x=f"{x:.1f}", y=y, width=f"{width:.1f}", height=BAR))
        x += width
    lines.append(element("text", " + ".join(bar.cells), class_="ours" if bar.is_ours else "value", x=f"{x + 6:.1f}", y=middle))
    return lines


def draw_panel(panel, text, y):
    bars = bars_of(panel, text)
    scale = (BARS_END - BARS_AT) / max(sum(bar.values) for bar in bars)
    lines = [element("text", panel.title, class_="title", x=MARGIN, y=y + 14),
             element("text", panel.note, class_="note", x=MARGIN, y=y + 34)]
    y += 46
    for bar in bars:
        lines += draw_bar(bar, scale, y)
        y += STEP
    return lines, y


def drawn(kind, text):
    """The chart of results; their last paragraph says how they were measured."""
    lines, y = [], MARGIN
    for panel in CHARTS[kind]:
        more, y = draw_panel(panel, text, y)
        lines += more
        y += 20
    for line in textwrap.wrap(plain(text.strip().split("\n\n")[-1]), FOOT_COLUMNS):
        lines.append(element("text", line, class_="foot", x=MARGIN, y=y))
        y += 16
    titles = "; ".join(panel.title for panel in CHARTS[kind])
    frame = element("rect", class_="page", x=0.5, y=0.5, width=WIDTH - 1, height=y + 7, rx=6)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 8}" viewBox="0 0 {WIDTH} {y + 8}" role="img">',
        element("title", titles), f"<style>{STYLE}</style>", frame, *lines, "</svg>"]) + "\n"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def chart_of(path):
    """The path of the chart of a file of results, and the chart."""
    kind = re.match(r"[a-z]+", os.path.basename(path))[0]
    return os.path.splitext(path)[0] + ".svg", drawn(kind, read(path))


def draw(path):
    chart, content = chart_of(path)
    with open(chart, "w", encoding="utf-8") as file:
        file.write(content)


def is_drawn(path):
    chart, content = chart_of(path)
    return os.path.exists(chart) and read(chart) == content


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("results", nargs="+", metavar="FILE.md")
    arguments = parser.parse_args()

    if not arguments.check:
        for path in arguments.results:
            draw(path)
        return
    old = [path for path in arguments.results if not is_drawn(path)]
    sys.exit(f"not what the chart beside it shows: {', '.join(old)}; make charts draws it anew" if old else 0)


if __name__ == "__main__":
    main()
