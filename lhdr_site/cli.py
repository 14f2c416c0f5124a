"""The `lhdr` console script: management commands, and the pure commands without Django or a database."""

import os
import sys


def main() -> None:
    name, arguments = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if name in ("score", "parse_verdict"):
        from evaluation.scoring import commands

        sys.exit({"score": commands.score_main, "parse_verdict": commands.parse_verdict_main}[name](arguments))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lhdr_site.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"lhdr: {error}")
