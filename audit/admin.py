"""The administration site: what the audit recorded, to read. Nothing here can be added, changed or deleted."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from lhdr_site.shared.admin import ReadOnly

from .models import CriterionResult, Release, Transition


@admin.register(Transition)
class TransitionAdmin(ReadOnly):
    list_display = ["created", "item", "move", "from_state", "to_state", "actor"]
    list_filter = ["move", "item__benchmark"]
    list_select_related = ["item", "actor"]
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("item__document", "item__findings")


@admin.register(CriterionResult)
class CriterionResultAdmin(ReadOnly):
    list_display = ["created", "item", "criterion", "rating", "passed", "auditor"]
    list_filter = ["criterion", "passed", "item__benchmark"]
    list_select_related = ["item", "auditor"]
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("item__document", "item__findings")


@admin.register(Release)
class ReleaseAdmin(ReadOnly):
    list_display = ["name", "benchmark", "item_count", "audited", "created", "created_by"]
    list_filter = ["benchmark", "audited"]
    list_select_related = ["benchmark", "created_by"]
