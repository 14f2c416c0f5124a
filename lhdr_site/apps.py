"""Loads Celery when Django starts; kept out of `__init__` so that pure modules load without Django."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "lhdr_site"

    def ready(self) -> None:
        from . import celery  # noqa: F401
