"""API addresses of evaluation."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
