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
    from django.db import OperationalError, ProgrammingError
    from environs import EnvError

    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, EnvError) as error:
        sys.exit(f"lhdr: {error}")
    except (OperationalError, ProgrammingError) as error:
        first = str(error).strip().splitlines()[0]
        sys.exit(f"lhdr: the database does not answer as it should: {first}. If it is new, run `lhdr migrate`.")
