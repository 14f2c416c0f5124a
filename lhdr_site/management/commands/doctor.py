"""`lhdr doctor`: is this installation able to work? Database, queue, worker, guards, data folder."""

import os
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.guards import missing_guards
from lhdr_site.shared.health import check_health


class Command(BaseCommand):
    help = "Say what works and what does not, with the remedy."

    def handle(self, *args: Any, **options: Any) -> None:
        report = dict(check_health())
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
        report["migrations"] = f"{len(waiting)} wait; run `lhdr migrate`" if waiting else "ok"
        if not waiting:
            missing = missing_guards()
            report["guards"] = f"{', '.join(missing)} missing; run `lhdr install_guards`" if missing else "ok"
            for endpoint in Endpoint.objects.all():
                unset = endpoint.key_variable and not os.environ.get(endpoint.key_variable)
                report[f"key of {endpoint.name}"] = f"set {endpoint.key_variable}" if unset else "ok"
        report["data folder"] = "ok" if os.access(settings.DATA, os.W_OK) else f"{settings.DATA} is not writable"
        for name, word in report.items():
            self.stdout.write(f"{name:20} {word}")
        wrong = [name for name, word in report.items() if word != "ok"]
        if wrong:
            raise CommandError(f"Not all is well: {', '.join(wrong)}.")
