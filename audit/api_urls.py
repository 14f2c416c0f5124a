"""API addresses of audit."""

from django.urls import path

from . import api

_ITEM = "benchmarks/<slug:slug>/items/<int:number>"
_RELEASES = "benchmarks/<slug:slug>/releases"

urlpatterns = [
    path(f"{_ITEM}/moves/", api.MoveView.as_view(), name="api-item-moves"),
    path(f"{_ITEM}/criteria/", api.CriteriaView.as_view(), name="api-item-criteria"),
    path(f"{_ITEM}/ticks/", api.TicksView.as_view(), name="api-item-ticks"),
    path(f"{_RELEASES}/", api.ReleaseListView.as_view(), name="api-releases"),
    path(f"{_RELEASES}/<str:name>/", api.ReleaseView.as_view(), name="api-release"),
    path(f"{_RELEASES}/<str:name>/export/", api.ExportView.as_view(), name="api-release-export"),
]
