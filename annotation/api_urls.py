"""API addresses of annotation."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
