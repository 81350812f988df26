#!/usr/bin/env python3
"""Names the tests that were skipped, one a line, with what they said about it.

usage: skipped_tests.py JUNIT_XML..."""
import re
import sys
import xml.etree.ElementTree

# A GoogleTest says it in the line after the place, a script in a line that begins with the word.
REASONS = (r"^skipped: (.+)$", r": Skipped\n(.+)$")


def reason_of(case):
    text = case.findtext("system-out") or ""
    for pattern in REASONS:
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return found[1].strip()
    return "it does not say why"


def main():
    for path in sys.argv[1:]:
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("skipped") is not None:
                print(f"  {case.get('name')}: {reason_of(case)}")


if __name__ == "__main__":
    main()
