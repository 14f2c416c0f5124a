"""API addresses of evaluation."""

from django.urls import path

from . import (
    api,
    configurations_api,
    drift_api,
    exchange_api,
    label_api,
    marking_api,
    probe_api,
    prompt_api,
    results_api,
    study_api,
)

_BENCHMARK = "benchmarks/<slug:slug>/"
_ITEM = f"{_BENCHMARK}items/<int:number>/"
_STUDY = f"{_BENCHMARK}studies/<int:number>/"
_SYSTEM = f"{_BENCHMARK}systems/<int:pk>/"
_RUN = f"{_BENCHMARK}runs/<int:number>/"

urlpatterns = [
    path(f"{_BENCHMARK}systems/", configurations_api.SystemList.as_view(), name="api-systems"),
    path(f"{_SYSTEM}try/", configurations_api.SystemTry.as_view(), name="api-system-try"),
    path(f"{_SYSTEM}tries/<int:tryout>/", configurations_api.TryoutDetail.as_view(), name="api-tryout"),
    path(f"{_SYSTEM}tries/<int:tryout>/cancel/", configurations_api.TryoutCancel.as_view(), name="api-tryout-cancel"),
    path(f"{_BENCHMARK}judges/", configurations_api.JudgeList.as_view(), name="api-judges"),
    path(f"{_BENCHMARK}judges/<int:pk>/drift/", drift_api.JudgeDrift.as_view(), name="api-drift"),
    path(f"{_BENCHMARK}anchors/", drift_api.AnchorList.as_view(), name="api-anchors"),
    path(f"{_RUN}responses/<int:pk>/anchor/", drift_api.AnchorSet.as_view(), name="api-anchor"),
    path(f"{_BENCHMARK}marking/", marking_api.MarkingList.as_view(), name="api-marking"),
    path(f"{_BENCHMARK}marking/<int:number>/", marking_api.MarkingDetail.as_view(), name="api-marking-plan"),
    path(f"{_BENCHMARK}studies/", study_api.StudyList.as_view(), name="api-studies"),
    path(_STUDY, study_api.StudyDetail.as_view(), name="api-study"),
    path(f"{_STUDY}check/", study_api.StudyCheck.as_view(), name="api-study-check"),
    path(f"{_STUDY}fill/", study_api.StudyFill.as_view(), name="api-study-fill"),
    path(f"{_STUDY}pause/", study_api.StudyPause.as_view(), name="api-study-pause"),
    path(f"{_STUDY}resume/", study_api.StudyResume.as_view(), name="api-study-resume"),
    path(f"{_STUDY}cancel/", study_api.StudyCancel.as_view(), name="api-study-cancel"),
    path(f"{_STUDY}freeze/", study_api.StudyFreeze.as_view(), name="api-study-freeze"),
    path(f"{_BENCHMARK}prompts/", prompt_api.PromptList.as_view(), name="api-prompts"),
    path(f"{_BENCHMARK}prompts/<slug:version>/", prompt_api.PromptDetail.as_view(), name="api-prompt"),
    path(f"{_BENCHMARK}failure-modes/", label_api.TaxonomyList.as_view(), name="api-taxonomies"),
    path(f"{_RUN}labels/", label_api.LabelList.as_view(), name="api-labels"),
    path(f"{_RUN}responses/<int:pk>/labels/", label_api.OwnLabels.as_view(), name="api-own-labels"),
    path(f"{_BENCHMARK}runs/import/", exchange_api.ResponseImport.as_view(), name="api-response-import"),
    path(f"{_RUN}verdicts/import/", exchange_api.VerdictImport.as_view(), name="api-verdict-import"),
    path(f"{_BENCHMARK}runs/", api.RunList.as_view(), name="api-runs"),
    path(f"{_BENCHMARK}runs/check/", api.RunCheck.as_view(), name="api-run-check"),
    path(_RUN, api.RunDetail.as_view(), name="api-run"),
    path(f"{_RUN}pause/", api.RunPause.as_view(), name="api-run-pause"),
    path(f"{_RUN}model/", api.RunAcceptModel.as_view(), name="api-run-model"),
    path(f"{_RUN}resume/", api.RunResume.as_view(), name="api-run-resume"),
    path(f"{_RUN}cancel/", api.RunCancel.as_view(), name="api-run-cancel"),
    path(f"{_RUN}retry/", api.RunRetry.as_view(), name="api-run-retry"),
    path(f"{_RUN}rerun/", api.RunRerun.as_view(), name="api-run-rerun"),
    path(f"{_RUN}responses/", results_api.ResponseList.as_view(), name="api-responses"),
    path(f"{_RUN}responses/<int:pk>/verdict/", results_api.OwnVerdict.as_view(), name="api-own-verdict"),
    path(f"{_RUN}verdicts/reveal/", results_api.VerdictReveal.as_view(), name="api-reveal"),
    path(f"{_RUN}verdicts/", results_api.VerdictList.as_view(), name="api-verdicts"),
    path(f"{_ITEM}probes/", probe_api.ProbeList.as_view(), name="api-probes"),
    path(f"{_ITEM}probes/paste/", probe_api.ProbePaste.as_view(), name="api-probe-paste"),
    path(f"{_ITEM}probes/<int:pk>/", probe_api.ProbeDetail.as_view(), name="api-probe"),
    path(f"{_ITEM}probes/<int:pk>/word/", probe_api.ProbeWord.as_view(), name="api-probe-word"),
    path(f"{_ITEM}probes/<int:pk>/again/", probe_api.ProbeAgain.as_view(), name="api-probe-again"),
    path(f"{_ITEM}gradeability/", probe_api.GradeCheckList.as_view(), name="api-gradeability"),
    path(f"{_ITEM}gradeability/<int:pk>/again/", probe_api.GradeCheckAgain.as_view(), name="api-grade-again"),
    path(f"{_BENCHMARK}results/", results_api.Leaderboard.as_view(), name="api-leaderboard"),
    path(f"{_BENCHMARK}results/<slug:key>/", results_api.AnalysisDetail.as_view(), name="api-analysis"),
]
