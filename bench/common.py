"""What the benchmarks share: databases as the pages make them, contenders, rounds, pgbench, tables, reports."""
import argparse
import datetime
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

SHOP, SQL_ONLY = "shop", "sql_only"
CLIENTS = 16
# Of other programs: before the benchmark itself makes some.
LOAD = os.getloadavg()[0]


def psql(sql, database=SHOP):
    command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "-"]
    return subprocess.run(command, input=sql, stdout=subprocess.PIPE, text=True, check=True).stdout


def block(page, name):
    """The SQL that a page shows under this name."""
    with open(page, encoding="utf-8") as file:
        return re.search(f"^```sql {name}\n(.*?)^```", file.read(), re.M | re.S)[1]


def create_databases():
    """The extension in one, the SQL-only version in the other, each with the defaults that its page teaches."""
    psql(f"CREATE ROLE app; CREATE DATABASE {SHOP}; CREATE DATABASE {SQL_ONLY};\n"
         f"ALTER DATABASE {SHOP} SET search_path = public, ids;", "postgres")
    psql(block("docs/migrating.md", "extension"))
    psql("CREATE SCHEMA ids;\nSET search_path = ids;\n\\i contrib/portable/shardid.sql\n", SQL_ONLY)
    psql(block("contrib/portable/README.md", "sql-only-number"), SQL_ONLY)
    # Citus has a row with the number of each node.
    function = re.search(r"CREATE FUNCTION.*", block("examples/citus/README.md", "extension"), re.S)[0]
    psql(f"CREATE TABLE pg_dist_local_group AS SELECT 5 AS groupid;\n{function}")
    for database in (SHOP, SQL_ONLY):
        psql("\\i bench/setup.sql", database)


def has_uuidv7():
    """Whether the server has uuidv7(), as PostgreSQL from 18 on."""
    return psql("SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'").strip() != "0"


def milliseconds(statements, database=SHOP):
    out = psql("\\timing on\n" + ";\n".join(statements) + ";\n", database)
    return [float(t) for t in re.findall(r"^Time: ([\d.]+) ms", out, re.M)]


def pgbench(script, seconds, sessions, database, *further, mode="prepared"):
    """Transactions per second of a file."""
    threads = max(2, os.cpu_count() // 4)
    command = ["pgbench", "-n", "-M", mode, "-c", str(sessions), "-j", str(threads), "-T", str(seconds), *further]
    out = subprocess.run([*command, "-f", script, database], stdout=subprocess.PIPE, text=True, check=True).stdout
    return float(re.search(r"tps = ([\d.]+)", out)[1])


def tps(statement, seconds, sessions=CLIENTS, database=SHOP, mode="prepared"):
    """Transactions per second of a statement."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(statement + ";\n")
        script.flush()
        return pgbench(script.name, seconds, sessions, database, mode=mode)


def latencies(name, seconds, sampling_rate):
    """Of a script of bench/pgbench: transactions per second, and the latencies in ms of this part of them."""
    with tempfile.TemporaryDirectory() as folder:
        log = ["-l", "--log-prefix", f"{folder}/log", "--sampling-rate", str(sampling_rate)]
        rate = pgbench(f"bench/pgbench/{name}.sql", seconds, CLIENTS, SHOP, *log)
        times = []
        for path in glob.glob(f"{folder}/log*"):
            with open(path, encoding="ascii") as file:
                times += [int(line.split()[2]) / 1000 for line in file]
    return rate, times


class Contender:
    """A row of a table: what generates ids, and the names of the columns that it has."""

    def __init__(self, label, call, columns, kind="bigint", database=SHOP, calls=200000, options=""):
        self.label, self.call, self.columns, self.kind = label, call, columns, kind
        self.database, self.calls, self.options = database, calls, options


def loop(contender, _):
    """ns per id in one session, less those of the same loop around a function that does nothing. A call with COUNT
    returns a set, and is compared with one."""
    count, call = contender.calls, contender.call
    rows = f"SELECT generate_series(1, {count}) AS n"
    if "COUNT" in call:
        calls_of_set = f"SELECT {call.replace('COUNT', str(count))} AS n"
        statements = [f"SELECT count(n) FROM ({made}) s" for made in (rows, calls_of_set)]
    else:
        statements = [f"SELECT count({c}) FROM ({rows}) s" for c in ("pg_backend_pid()", call)]
    floor, own = milliseconds(statements, contender.database)
    return (own - floor) * 1e6 / count


def calls(contender, seconds, sessions=CLIENTS):
    return tps(f"SELECT {contender.call}", seconds, sessions, contender.database)


def new_table(contender, key):
    """Empty, with the id by DEFAULT. Instagram's function makes duplicates: its index is not unique."""
    index = f"CREATE {'' if 'baseline' in contender.call else 'UNIQUE'} INDEX key ON rows (id);" if key else ""
    psql(f"""SET client_min_messages = warning; DROP TABLE IF EXISTS rows;
        CREATE TABLE rows (id {contender.kind} DEFAULT {contender.call} NOT NULL, n int); {index} CHECKPOINT""",
         contender.database)


def inserts(contender, seconds):
    new_table(contender, key=True)
    return tps("INSERT INTO rows (n) VALUES (1)", seconds, database=contender.database)


class Results:
    """Values by (row, column), one per round."""

    def __init__(self):
        self.values = {}

    def add(self, row, column, value):
        self.values.setdefault((row, column), []).append(value)

    def median(self, row, column):
        return statistics.median(self.values[row, column])

    def spread(self, column):
        """The range of all rounds as a share of the median: of the row in the middle."""
        rows = [values for (_, own), values in self.values.items() if own == column]
        return statistics.median((max(row) - min(row)) / abs(statistics.median(row)) for row in rows)


def rotated(names, by):
    names = list(names)
    by %= len(names)
    return names[by:] + names[:by]


def progress(number, rounds, text):
    print(f"round {number + 1} of {rounds}: {text}", file=sys.stderr, flush=True)


def measure(contenders, columns, arguments):
    """Contenders take turns in every round. columns: a name, and a function that returns the value, or values by the
    names of several columns."""
    results = Results()
    for number in range(arguments.rounds):
        for column, function in columns.items():
            for name in rotated(contenders, number):
                contender = contenders[name]
                if column in contender.columns:
                    found = function(contender, arguments.seconds)
                    for key, value in (found if isinstance(found, dict) else {column: found}).items():
                        results.add(name, key, value)
                        progress(number, arguments.rounds, f"{contender.label}: {key} {value:,.1f}")
    return results


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * (len(headings) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return [re.sub(r"\| +(?=\|)", "| ", line) for line in lines]


# ns; smaller values cannot be distinguished from the loop's own time.
SMALLEST = 2


def cell(value, name):
    if name.startswith("loop") and value < SMALLEST:
        return f"< {SMALLEST}"
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def table_of(contenders, results, headings):
    def cell_of(name, heading):
        return cell(results.median(name, heading), heading) if (name, heading) in results.values else ""

    return table(["", *headings], [[contender.label, *(cell_of(name, heading) for heading in headings)]
                                   for name, contender in contenders.items()])


def options(doc, **defaults):
    """Options: integers with these defaults, and the directory for results."""
    if defaults["rounds"] > 1 and os.getloadavg()[0] > 1:
        print(f"warning: the load of this machine is {os.getloadavg()[0]:.1f}; the figures will be those of a busy one", file=sys.stderr)
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", required=True, help="directory for results")
    return parser.parse_args()


def conditions(target, arguments, settings="default durability", **variables):
    """The end of a report: the conditions of the measurement, and how to repeat it."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    version = psql("SHOW server_version", "postgres").strip().split(" ")[0]
    variables = {"PG": os.environ.get("PG"), **(variables or {"ROUNDS": arguments.rounds, "SECONDS": arguments.seconds})}
    command = " ".join(["make", target] + [f"{name}={value}" for name, value in variables.items() if value])
    busy = f", busy with others (load {LOAD:.0f})" if LOAD > os.cpu_count() else ""
    return (f"{os.cpu_count()} cores of {model[1].strip() if model else 'an unknown processor'}{busy}; PostgreSQL {version}, "
            f"{settings}; {datetime.date.today().isoformat()}; `{command}`.")


def summary(results, headings, *how):
    spreads = ", ".join(f"{heading.split(':')[0]} {results.spread(heading):.0%}" for heading in headings)
    return f"Medians of the rounds, which in half of the rows differ by at most: {spreads}. {conditions(*how)}"


def write_report(path, lines):
    wrapper = textwrap.TextWrapper(118, break_long_words=False, break_on_hyphens=False)
    text = "\n".join(line if line.startswith("|") else wrapper.fill(line) for line in lines) + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(text)
