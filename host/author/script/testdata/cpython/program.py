#!/usr/bin/env python3
import argparse
import atexit
import sys

assert __name__ in ("program", "__main__")
seen = []


def shout(text):
    return text.upper()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--code", type=int, default=0)
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    atexit.register(print, "bye")
    seen.append(1)
    print(len(seen), args.words, sys.stdin.read())
    print("careful", file=sys.stderr)
    sys.exit(args.code)
