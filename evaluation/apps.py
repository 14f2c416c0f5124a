from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from . import events  # noqa: F401  enters runs in the trail of a benchmark
