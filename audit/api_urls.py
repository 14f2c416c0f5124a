"""API addresses of audit."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
