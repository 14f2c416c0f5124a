"""Endpoints, made by the installation's superusers. Keys are named here and never stored."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet, URLField
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lhdr_site.shared.admin import ReadOnly

from .limits import close_breaker
from .models import Endpoint, EndpointEvent


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):
    list_display = ["name", "base_url", "wire", "key_variable", "slots", "calls_per_minute", "broken", "is_demo"]
    readonly_fields = ["broken"]
    actions = ["try_again"]
    list_filter = ["wire", "is_demo"]
    search_fields = ["name", "base_url"]
    formfield_overrides = {URLField: {"assume_scheme": "https"}}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description=gettext_lazy("Try again: make calls to them once more"), permissions=["change"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        with transaction.atomic():
            names = [str(close_breaker(row.pk, request.user)) for row in queryset.exclude(broken="")]
        if names:
            messages.success(request, _("Calls are made again to %s.") % ", ".join(names))
        else:
            messages.info(request, _("None of them was held back."))


@admin.register(EndpointEvent)
class EndpointEventAdmin(ReadOnly):
    list_display = ["created", "endpoint", "kind", "actor"]
    list_filter = ["kind"]
    list_select_related = ["endpoint", "actor"]
