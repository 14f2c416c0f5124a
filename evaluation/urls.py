"""Addresses of evaluation."""

from django.urls import URLPattern, path

from .views.signed import signed_image

app_name = "evaluation"
urlpatterns: list[URLPattern] = [
    path("shared-images/<str:token>", signed_image, name="signed-image"),
]
