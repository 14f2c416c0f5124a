from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"

    def ready(self) -> None:
        from annotation.gates import register_blind

        from . import bulk  # noqa: F401  registers its kind of bulk change
        from .second_queries import blind_items_of

        register_blind(blind_items_of)
