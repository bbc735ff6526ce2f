"""Warnings of MkDocs with --quiet as well: `--strict` counts only those that its logger lets through."""

from __future__ import annotations

import logging


def on_startup(command: str, dirty: bool) -> None:
    """Let warnings through; --quiet has raised the level to errors by now."""
    logger = logging.getLogger("mkdocs")
    logger.setLevel(min(logger.level, logging.WARNING))
