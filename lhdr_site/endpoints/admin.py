"""Endpoints, made by the installation's superusers. Keys are named here and never stored."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from .models import Endpoint


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):
    list_display = ["name", "base_url", "wire", "key_variable", "slots", "is_demo"]
    list_filter = ["wire", "is_demo"]
    search_fields = ["name", "base_url"]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    has_view_permission = has_module_permission  # type: ignore[assignment]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
