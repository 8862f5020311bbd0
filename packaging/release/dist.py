#!/usr/bin/env python3
"""Writes shardid-VERSION.zip for PGXN: dist.py [DIRECTORY]. META.json has the version. The zip contains all files that
git tracks; without git, as in an unpacked zip, all files that .gitignore does not name.
"""
import fnmatch
import json
import os
import subprocess
import sys
import time
import zipfile


def tracked():
    listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"],
                             check=True, capture_output=True, text=True).stdout
    return [path for path in listing.split("\0") if path]


def ignored(path, patterns):
    """The patterns of .gitignore that this project uses: a name anywhere, and a path from the top."""
    path = path.removeprefix("./")
    return any(fnmatch.fnmatch("/" + path if pattern.startswith("/") else os.path.basename(path),
                               pattern.removesuffix("/"))
               for pattern in patterns)


def walked():
    with open(".gitignore", encoding="utf-8") as file:
        patterns = [".git"] + [line for line in file.read().splitlines() if line and not line.startswith("#")]
    for folder, folders, names in os.walk("."):
        folders[:] = [name for name in folders if not ignored(os.path.join(folder, name), patterns)]
        for name in names:
            path = os.path.join(folder, name)
            if not ignored(path, patterns):
                yield os.path.relpath(path)


def add(archive, path, prefix):
    """The file, without the parts of its mode and time that differ between checkouts."""
    status = os.stat(path)
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", status.st_mtime))
    entry = zipfile.ZipInfo(prefix + path, time.gmtime(seconds)[:6])
    entry.external_attr = (0o100755 if status.st_mode & 0o100 else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    with open(path, "rb") as file:
        archive.writestr(entry, file.read())


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    with open("META.json", encoding="utf-8") as file:
        meta = json.load(file)
    name = f"{meta['name']}-{meta['version']}"
    target = os.path.join(folder, name + ".zip")
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(tracked() if os.path.exists(".git") else walked()):
            add(archive, path, name + "/")
    print(target)


main()
