"""`lhdr demo_endpoint`: serve recorded answers over HTTP until told to stop."""

import os
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from lhdr_site.endpoints.demo_server import DemoServer


class Command(BaseCommand):
    help = "Serve the demo endpoint: recorded answers over HTTP, no model behind it. Ctrl-C ends it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.DEMO_PORT, help="port (default: %(default)s)")
        parser.add_argument("--fixtures", type=Path, default=settings.BASE_DIR / "fixtures" / "demo")
        parser.add_argument("--delay-ms", type=int, default=0, help="wait this long before each answer")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["fixtures"].is_dir():
            raise CommandError(
                _("There is no folder %(folder)s; name it with --fixtures.") % {"folder": options["fixtures"]}
            )
        try:
            server = DemoServer(options["port"], options["fixtures"], options["delay_ms"])
        except OSError as error:
            raise CommandError(
                _("Port %(port)s cannot be used: %(reason)s. Choose another with --port.")
                % {"port": options["port"], "reason": error.strerror}
            ) from error
        except (ValueError, KeyError) as error:
            raise CommandError(
                _("The recordings in %(folder)s cannot be read: %(reason)s.")
                % {"folder": options["fixtures"], "reason": f"{type(error).__name__}: {error}"}
            ) from error
        # At once: no request that is being answered slowly holds the end up.
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        self.stdout.write(_("Demo endpoint at %(address)s: recorded answers, no model.") % {"address": server.address})
        self.stdout.flush()
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            pass
