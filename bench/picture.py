"""The picture of docs/throughput.svg, from the first table of bench/results/throughput.md, so that both have the same
numbers. To be read where it is 480 pixels wide, on a light page and on a dark one."""
import re
from xml.sax.saxutils import escape

WIDTH, BAR, LEFT, ROW = 480, 250, 16, 66
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="14">
<title>Calls per second of 16 sessions: shardid and the published functions</title>
<style>
text { fill: #1f2328 } .page { fill: #ffffff } .own { fill: #336791 } .published { fill: #a4acb5 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .page { fill: #0d1117 } .own { fill: #6ea8dc } .published { fill: #6b737d }
}
</style>
<rect class="page" width="100%%" height="100%%"/>"""


def legend():
    for x, name, label in ((LEFT, "own", "shardid"), (110, "published", "the published SQL or PL/pgSQL function")):
        yield f'<rect class="{name}" x="{x}" y="12" width="14" height="14"/><text x="{x + 20}" y="24">{label}</text>'


def row(y, label, own, published, spread):
    """A pair of bars to its own scale; a ratio within the spread is none."""
    yield f'<text x="{LEFT}" y="{y}" font-weight="bold">{escape(label)}</text>'
    ratio = own / published
    told = f", {ratio:.1f} times" if abs(own - published) > spread * max(own, published) else ", within the spread"
    for offset, name, value, more in ((6, "own", own, told), (28, "published", published, "")):
        width = max(2, BAR * value / max(own, published))
        yield (f'<rect class="{name}" x="{LEFT}" y="{y + offset}" width="{width:.0f}" height="18"/>'
               f'<text x="{LEFT + width + 6:.0f}" y="{y + offset + 14}">{value:,.0f}{more}</text>')


def picture(results):
    first = results.split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:4]] for line in first]
    spread = int(re.search(r"at most (\d+)%", results)[1]) / 100
    lines = [HEAD % (WIDTH, 60 + ROW * len(rows)), *legend()]
    for number, (label, own, published) in enumerate(rows):
        lines += row(54 + ROW * number, label, *(float(value.replace(",", "")) for value in (own, published)), spread)
    lines.append(f'<text x="{LEFT}" y="{50 + ROW * len(rows)}" font-size="12">calls per second of 16 sessions; '
                 f'each pair has its own scale; spread {spread:.0%}</text>')
    return "\n".join([*lines, "</svg>", ""])
