"""Items, revisions and events to look at, and a benchmark's name and preset. Nothing else is written here."""

from typing import Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest

from lhdr_site.shared.admin import ReadOnly

from . import benchmark_actions
from .models import Benchmark, Item, ItemEvent, Revision


@admin.register(Benchmark)
class BenchmarkAdmin(admin.ModelAdmin):
    """A benchmark is created on the site or by `lhdr create_benchmark`, with its categories and its first admin."""

    list_display = ["slug", "name", "preset", "created"]
    search_fields = ["slug", "name"]
    fields = ["slug", "name", "preset", "canary", "created"]
    readonly_fields = ["slug", "canary", "created"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Benchmark, form: ModelForm, change: bool) -> None:
        benchmark_actions.rename_benchmark(obj, obj.name, obj.preset, actor=request.user)  # type: ignore[arg-type]


@admin.register(Item)
class ItemAdmin(ReadOnly):
    list_display = ["number", "benchmark", "state", "author", "updated"]
    list_filter = ["benchmark", "state"]
    list_select_related = ["benchmark", "author"]
    search_fields = ["uid", "question"]

    def get_queryset(self, request: HttpRequest) -> Any:
        """Lists never load documents; one item's page reads it when it is shown."""
        return super().get_queryset(request).defer("document", "findings")


@admin.register(Revision)
class RevisionAdmin(ReadOnly):
    list_display = ["number", "item_number", "kind", "section", "author", "created"]
    list_filter = ["kind"]
    list_select_related = ["item__benchmark", "author"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("document", "item__document", "item__findings")

    @admin.display(description="item")
    def item_number(self, revision: Revision) -> str:
        return f"{revision.item.benchmark.slug} #{revision.item.number}"


@admin.register(ItemEvent)
class ItemEventAdmin(ReadOnly):
    list_display = ["created", "benchmark", "kind", "item_number", "actor"]
    list_filter = ["benchmark"]
    list_select_related = ["benchmark", "item", "actor"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("item__document", "item__findings")

    @admin.display(description="item")
    def item_number(self, event: ItemEvent) -> str:
        return f"#{event.item.number}" if event.item else ""
