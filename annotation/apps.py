from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from . import bulk_kinds  # noqa: F401  registers the kinds of bulk change
