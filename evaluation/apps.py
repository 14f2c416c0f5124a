from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from . import events, telling  # noqa: F401  enter runs in the trail of a benchmark, and the words of their ends
