"""`dovetail report`: a record directory as one HTML file, and as PNG figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="records, as `--out` of other commands made them")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page to write (default: DIR/report.html)")
    parser.add_argument("--png", type=Path, metavar="DIR", help="also write the figures as PNG files there")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def run(args: argparse.Namespace) -> int:
    from dovetail.core.errors import RecordError
    from dovetail.evaluation.report import write_figures, write_page
    from dovetail.records import read_records

    records = read_records(args.directory)
    page = args.out or args.directory / "report.html"
    if page.is_dir():
        page = page / "report.html"
    if args.png is not None and args.png.exists() and not args.png.is_dir():
        raise RecordError(f"{args.png}: not a directory; --png takes the directory to write the figures to")
    write_page(records, page)
    print(page)
    if args.png is not None:
        for path in write_figures(records, args.png):
            print(path)
    if args.open:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            print("dovetail: no browser found; open the file above yourself", file=sys.stderr)
    return 0
