#!/usr/bin/env python3
"""Checks that META.json has the required keys of the PGXN meta specification 1.0.0, and that other files have the same
addresses of the project.
"""
import glob
import json
import re
import sys

SEMVER = re.compile(r"^\d+\.\d+\.\d+(-[A-Za-z][A-Za-z0-9-]*)?$")
URI = re.compile(r"^(https?|git)://[^\s/]+(/\S*)?$")
TERM = re.compile(r"^[^\s/\\\x00-\x1f\x7f]{2,}$")


def faults(meta):
    for key in ("name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"):
        if not meta.get(key):
            yield f"required key {key} is missing"
    if not TERM.match(meta.get("name", "")):
        yield "name is not a term"
    if not SEMVER.match(meta.get("version", "")):
        yield "version is not a semantic version"
    if meta.get("meta-spec", {}).get("version") != "1.0.0":
        yield "meta-spec is not 1.0.0"
    for name, extension in meta.get("provides", {}).items():
        for key in ("file", "version"):
            if not extension.get(key):
                yield f"provides {name}: {key} is missing"
        if not SEMVER.match(extension.get("version", "")):
            yield f"provides {name}: version is not a semantic version"
        for key in ("file", "docfile"):
            try:
                open(extension[key]).close()
            except (KeyError, OSError) as error:
                yield f"provides {name}: {key}: {error}"
    for name, resource in meta.get("resources", {}).items():
        for key, value in resource.items() if isinstance(resource, dict) else [(name, resource)]:
            if key not in ("mailto", "type") and not URI.match(value):
                yield f"resource {name}: {key} is not a URI"
    for tag in meta.get("tags", []):
        if not 0 < len(tag) < 256 or re.search(r"[/\\\x00-\x1f\x7f]", tag):
            yield f"tag {tag!r} is not a tag"


def other_addresses(meta):
    """What other files contain, but not META.json."""
    resources = meta["resources"]
    own = {resources["homepage"], resources["repository"]["url"], resources["repository"]["web"], *resources["bugtracker"].values()}
    host = re.sub(r"^\w+://([^/]+).*$", r"\1", resources["homepage"])
    address = re.compile(rf"(?:\w+://|[\w.+-]+@){re.escape(host)}[^\s)>\"'`,]*")
    for path in [*glob.glob("debian/*"), *glob.glob("*.md"), *glob.glob("docs/*.md")]:
        if not path.endswith(("debian/source", "debian/tests")):
            with open(path, encoding="utf-8") as file:
                yield from (f"{path}: {found} is not in META.json" for found in address.findall(file.read()) if found not in own)
    with open("debian/control.in", encoding="utf-8") as file:
        if f"\nHomepage: {resources['homepage']}\n" not in file.read():
            yield "debian/control.in: not the homepage of META.json"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        meta = json.load(file)
    found = [*faults(meta), *other_addresses(meta)]
    print("\n".join(found) or "valid")
    sys.exit(1 if found else 0)


main()
