"""`lhdr up`: prepare the database, load the demo, and run everything of the Procfile under one supervisor."""

import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command

from annotation.demo import DEMO_PASSWORD, DEMO_PEOPLE


def _port_is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.3)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Command(BaseCommand):
    help = "Prepare the database, load the demo, and run web server, worker, scheduler and demo endpoint until Ctrl-C."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo benchmark")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            port = int(os.environ.get("PORT") or 8000)
        except ValueError:
            raise CommandError(f"PORT is {os.environ['PORT']!r}; set it to a number.") from None
        for number, variable in ((port, "PORT"), (settings.DEMO_PORT, "LHDR_DEMO_PORT")):
            if _port_is_open(number):
                raise CommandError(f"Port {number} is in use. Stop what uses it, or set {variable} to another one.")
        self.stdout.write("Preparing the database …")
        call_command("migrate", verbosity=0)
        if not options["no_demo"]:
            call_command("load_demo", verbosity=0)
        self._supervise(port)

    def _supervise(self, port: int) -> None:
        from honcho.environ import expand_processes, parse_procfile
        from honcho.manager import Manager

        folder = Path(sys.executable).parent
        env = {
            **os.environ,
            "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
            "PORT": str(port),
            "LHDR_DATA": str(settings.DATA),
            "PYTHONUNBUFFERED": "1",
        }
        processes = parse_procfile((settings.BASE_DIR / "Procfile").read_text()).processes
        manager = Manager()
        for process in expand_processes(processes, env=env):
            # PORT is ours: honcho would number it by process.
            manager.add_process(process.name, f"exec {process.cmd}", env={**process.env, **env})
        threading.Thread(target=self._announce, args=(port,), daemon=True).start()
        manager.loop()
        sys.exit(manager.returncode)

    def _announce(self, port: int) -> None:
        while not _port_is_open(port):
            time.sleep(0.1)
        lines = ["", f"LHDR Workbench is at http://localhost:{port}/", ""]
        from annotation.demo import demo_is_loaded

        if demo_is_loaded():
            lines += [f"  {name:6} {DEMO_PASSWORD}   {role}" for name, _full, role in DEMO_PEOPLE]
            lines += [
                "",
                "These are demo log-ins. Ctrl-C stops everything; the data stays in " + str(settings.DATA),
                "",
            ]
        self.stdout.write("\n".join(lines))
        self.stdout.flush()
