"""Addresses of audit."""

from django.urls import path

from .views import panel, queue, releases

app_name = "audit"
urlpatterns = [
    path("b/<slug>/audit/", queue.queue, name="queue"),
    path("b/<slug>/audit/calibration/", queue.calibration, name="calibration"),
    path("b/<slug>/items/<int:number>/audit/", panel.show, name="panel"),
    path("b/<slug>/items/<int:number>/audit/criteria/<criterion>/", panel.record, name="criterion-record"),
    path("b/<slug>/items/<int:number>/audit/ticks/<element>/", panel.tick, name="element-tick"),
    path("b/<slug>/items/<int:number>/audit/review/", panel.start, name="review-start"),
    path("b/<slug>/items/<int:number>/audit/move/", panel.move, name="item-move"),
    path("b/<slug>/releases/", releases.release_list, name="release-list"),
    path("b/<slug>/releases/cut/", releases.cut, name="release-cut"),
    path("b/<slug>/releases/<name>/", releases.release, name="release"),
    path("b/<slug>/releases/<name>/export/", releases.export, name="release-export"),
]
