#!/usr/bin/env python3
"""Fails when a Markdown page links to a file that is not there. usage: links_test.py ROOT"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def broken(root):
    for page in sorted(root.rglob("*.md")):
        if "build" in page.relative_to(root).parts or "node_modules" in page.parts:
            continue
        for target in LINK.findall(page.read_text()):
            if not (page.parent / target).exists():
                yield f"{page.relative_to(root)}: no such file: {target}"


if __name__ == "__main__":
    found = list(broken(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "links: ok")
    sys.exit(bool(found))
