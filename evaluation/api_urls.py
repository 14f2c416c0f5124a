"""API addresses of evaluation."""

from django.urls import path

from . import api

_BENCHMARK = "benchmarks/<slug:slug>/"
_RUN = f"{_BENCHMARK}runs/<int:number>/"

urlpatterns = [
    path(f"{_BENCHMARK}systems/", api.SystemList.as_view(), name="api-systems"),
    path(f"{_BENCHMARK}judges/", api.JudgeList.as_view(), name="api-judges"),
    path(f"{_BENCHMARK}runs/", api.RunList.as_view(), name="api-runs"),
    path(_RUN, api.RunDetail.as_view(), name="api-run"),
    path(f"{_RUN}pause/", api.RunPause.as_view(), name="api-run-pause"),
    path(f"{_RUN}resume/", api.RunResume.as_view(), name="api-run-resume"),
    path(f"{_RUN}cancel/", api.RunCancel.as_view(), name="api-run-cancel"),
    path(f"{_RUN}retry/", api.RunRetry.as_view(), name="api-run-retry"),
    path(f"{_RUN}responses/", api.ResponseList.as_view(), name="api-responses"),
    path(f"{_RUN}responses/<int:pk>/verdict/", api.OwnVerdict.as_view(), name="api-own-verdict"),
    path(f"{_RUN}verdicts/reveal/", api.VerdictReveal.as_view(), name="api-reveal"),
    path(f"{_RUN}verdicts/", api.VerdictList.as_view(), name="api-verdicts"),
    path(f"{_BENCHMARK}results/", api.Leaderboard.as_view(), name="api-leaderboard"),
]
