"""Endpoints, made by the installation's superusers. Keys are named here and never stored."""

from typing import Any

from django.contrib import admin
from django.db.models import URLField
from django.http import HttpRequest

from .models import Endpoint


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):
    list_display = ["name", "base_url", "wire", "key_variable", "slots", "is_demo"]
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
