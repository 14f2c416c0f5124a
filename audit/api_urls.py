"""API addresses of audit."""

from django.urls import path

from . import api, errata_api, link_api, pilot_api, release_api, second_api, trail_api, work_api

_ITEM = "benchmarks/<slug:slug>/items/<int:number>"
_AUDIT = "benchmarks/<slug:slug>/audit"
_RELEASES = "benchmarks/<slug:slug>/releases"

urlpatterns = [
    path(f"{_ITEM}/moves/", api.MoveView.as_view(), name="api-item-moves"),
    path(f"{_ITEM}/criteria/", api.CriteriaView.as_view(), name="api-item-criteria"),
    path(f"{_ITEM}/ticks/", api.TicksView.as_view(), name="api-item-ticks"),
    path(f"{_ITEM}/trail/", trail_api.ItemTrailView.as_view(), name="api-item-trail"),
    path("benchmarks/<slug:slug>/trail/", trail_api.TrailView.as_view(), name="api-trail"),
    path(f"{_ITEM}/errata/", errata_api.ItemErrataView.as_view(), name="api-item-errata"),
    path("benchmarks/<slug:slug>/errata/", errata_api.ErrataView.as_view(), name="api-errata"),
    path("benchmarks/<slug:slug>/errata/<int:pk>/", errata_api.ErratumView.as_view(), name="api-erratum"),
    path(f"{_ITEM}/points/", api.PointsView.as_view(), name="api-return-points"),
    path(f"{_ITEM}/points/<int:pk>/", api.PointView.as_view(), name="api-return-point"),
    path(f"{_AUDIT}/queue/", work_api.QueueView.as_view(), name="api-queue"),
    path(f"{_AUDIT}/next/", work_api.NextView.as_view(), name="api-next"),
    path(f"{_ITEM}/claim/", work_api.ClaimView.as_view(), name="api-claim"),
    path(f"{_ITEM}/overrides/", work_api.OverridesView.as_view(), name="api-overrides"),
    path(f"{_ITEM}/candidates/", work_api.CandidatesView.as_view(), name="api-candidates"),
    path(f"{_ITEM}/candidates/<int:pk>/", work_api.CandidateView.as_view(), name="api-candidate"),
    path(f"{_ITEM}/links/", link_api.ItemLinksView.as_view(), name="api-item-links"),
    path(f"{_ITEM}/links/<str:source>/", link_api.LinkView.as_view(), name="api-item-link"),
    path(f"{_AUDIT}/links/", link_api.LinkListView.as_view(), name="api-links"),
    path(f"{_AUDIT}/pilot/", pilot_api.BoardView.as_view(), name="api-pilot"),
    path(f"{_AUDIT}/pilot/<int:pk>/", pilot_api.BatchView.as_view(), name="api-pilot-batch"),
    path(f"{_AUDIT}/pilot/<int:pk>/close/", pilot_api.CloseView.as_view(), name="api-pilot-close"),
    path(f"{_AUDIT}/pilot/<int:pk>/items/<int:number>/", pilot_api.RateView.as_view(), name="api-pilot-rate"),
    path(f"{_AUDIT}/calibration/", pilot_api.CalibrationView.as_view(), name="api-calibration"),
    path(f"{_AUDIT}/second/", second_api.SecondListView.as_view(), name="api-second"),
    path(f"{_AUDIT}/second/<int:pk>/", second_api.SecondView.as_view(), name="api-second-audit"),
    path(f"{_AUDIT}/second/<int:pk>/take/", second_api.SecondTakeView.as_view(), name="api-second-take"),
    path(f"{_AUDIT}/second/<int:pk>/give-back/", second_api.SecondGiveBackView.as_view(), name="api-second-back"),
    path(f"{_AUDIT}/second/<int:pk>/finish/", second_api.SecondFinishView.as_view(), name="api-second-finish"),
    path(f"{_AUDIT}/second/<int:pk>/criteria/", second_api.SecondCriteriaView.as_view(), name="api-second-criteria"),
    path(f"{_AUDIT}/second/<int:pk>/adjudicate/", second_api.AdjudicateView.as_view(), name="api-adjudicate"),
    path(f"{_AUDIT}/agreement/", second_api.AgreementView.as_view(), name="api-agreement"),
    path(f"{_AUDIT}/agreement/disagreements/", second_api.DisagreementsView.as_view(), name="api-disagreements"),
    path(f"{_RELEASES}/", release_api.ReleaseListView.as_view(), name="api-releases"),
    path(f"{_RELEASES}/<str:name>/", release_api.ReleaseView.as_view(), name="api-release"),
    path(f"{_RELEASES}/<str:name>/export/", release_api.ExportView.as_view(), name="api-release-export"),
    path(
        f"{_RELEASES}/<str:name>/compare/<str:other>/",
        release_api.CompareView.as_view(),
        name="api-release-compare",
    ),
]
