"""The administration site: its name, and accounts, which are deactivated and never deleted. Imports no app of ours."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

admin.site.site_header = _("LHDR Workbench: administration")
admin.site.site_title = _("LHDR Workbench")
admin.site.index_title = _("People, endpoints and benchmarks of this installation")


class ReadOnly(admin.ModelAdmin):
    """Shows rows to those who may view them; nothing is added, changed or deleted here."""

    show_full_result_count = False  # counting every row of a large table costs more than the page

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class PersonAdmin(UserAdmin):
    """Untick “active” for who leaves: their work stays under their name."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


admin.site.unregister(User)
admin.site.register(User, PersonAdmin)
