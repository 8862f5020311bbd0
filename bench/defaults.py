"""The default that docs/migrating.md teaches, for the schemas of bench/setup.sql."""
import re


def taught():
    """SQL that creates taught.new_id() with the extension and portable.new_id() without it."""
    with open("docs/migrating.md", encoding="utf-8") as file:
        page = file.read()
    extension, sql_only = (re.search(f"^```sql {name}\n(.*?)^```", page, re.M | re.S)[1] for name in ("extension", "sql-only-number"))
    extension = re.search(r"^CREATE FUNCTION ids\.new_id.*$", extension, re.M)[0]
    sql_only = re.match(r"CREATE TABLE.*?\bEND \$\$;\n", sql_only, re.S)[0]
    return (f"CREATE SCHEMA taught; {extension.replace('ids.new_id', 'taught.new_id').replace('ids.next_id', 'public.next_id')}\n"
            f"{sql_only.replace('ids.', 'portable.')}"
            "CREATE TABLE by_new_id (id bigint DEFAULT taught.new_id(), n int); CREATE INDEX ON by_new_id (id);\n"
            "CREATE TABLE by_portable_new_id (id bigint DEFAULT portable.new_id(), n int); CREATE INDEX ON by_portable_new_id (id);\n")
