"""API addresses of annotation."""

from django.urls import path

from . import api

ITEM = "benchmarks/<slug:slug>/items/<int:number>/"

urlpatterns = [
    path("benchmarks/", api.BenchmarkList.as_view(), name="api-benchmarks"),
    path("benchmarks/<slug:slug>/items/", api.ItemList.as_view(), name="api-items"),
    path(ITEM, api.ItemDetail.as_view(), name="api-item"),
    path(f"{ITEM}sections/<str:section>/", api.SectionDetail.as_view(), name="api-section"),
    path(f"{ITEM}revisions/", api.RevisionList.as_view(), name="api-revisions"),
    path(f"{ITEM}checks/", api.CheckList.as_view(), name="api-checks"),
]
