"""The app under all others: errors, permissions' answers, guards, health, template tags. Imports no other app."""

from django.apps import AppConfig


class SharedConfig(AppConfig):
    name = "lhdr_site.shared"
    label = "shared"
