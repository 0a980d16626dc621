"""The report: one self-contained HTML file, or PNG figures, made from records alone."""

from __future__ import annotations

from dovetail.evaluation.report.figures import write_figures
from dovetail.evaluation.report.page import render_page, write_page

__all__ = ["render_page", "write_figures", "write_page"]
