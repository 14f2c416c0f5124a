"""Addresses of evaluation."""

from django.urls import URLPattern, path

from .views import configurations, responses, results, runs
from .views.signed import signed_image

app_name = "evaluation"

RUN = "b/<slug:slug>/runs/<int:number>/"
RESPONSE = f"{RUN}responses/<int:pk>/"

urlpatterns: list[URLPattern] = [
    path("shared-images/<str:token>", signed_image, name="signed-image"),
    path("b/<slug:slug>/systems/", configurations.system_list, name="system-list"),
    path("b/<slug:slug>/systems/new/", configurations.system_create, name="system-create"),
    path("b/<slug:slug>/judges/", configurations.judge_list, name="judge-list"),
    path("b/<slug:slug>/judges/new/", configurations.judge_create, name="judge-create"),
    path("b/<slug:slug>/runs/", runs.run_list, name="run-list"),
    path("b/<slug:slug>/runs/new/", runs.run_launch, name="run-launch"),
    path(RUN, runs.run_page, name="run-page"),
    path(f"{RUN}progress/", runs.run_progress, name="run-progress"),
    path(f"{RUN}pause/", runs.run_pause, name="run-pause"),
    path(f"{RUN}resume/", runs.run_resume, name="run-resume"),
    path(f"{RUN}retry/", runs.run_retry, name="run-retry"),
    path(f"{RUN}cancel/", runs.run_cancel, name="run-cancel"),
    path(f"{RUN}judge/", runs.run_rejudge, name="run-rejudge"),
    path(RESPONSE, responses.response_page, name="response-page"),
    path(f"{RESPONSE}verdict/", responses.verdict_give, name="verdict-give"),
    path(f"{RESPONSE}reveal/", responses.verdict_reveal, name="verdict-reveal"),
    path("b/<slug:slug>/results/", results.results_page, name="leaderboard"),
    path("b/<slug:slug>/results/leaderboard.csv", results.leaderboard_csv, name="leaderboard-csv"),
]
