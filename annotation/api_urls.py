"""API addresses of annotation."""

from django.urls import path

from . import api, own_api, talk_api

ITEM = "benchmarks/<slug:slug>/items/<int:number>/"

urlpatterns = [
    path("benchmarks/", api.BenchmarkList.as_view(), name="api-benchmarks"),
    path("benchmarks/<slug:slug>/items/", api.ItemList.as_view(), name="api-items"),
    path(ITEM, api.ItemDetail.as_view(), name="api-item"),
    path(f"{ITEM}sections/<str:section>/", api.SectionDetail.as_view(), name="api-section"),
    path(f"{ITEM}revisions/", api.RevisionList.as_view(), name="api-revisions"),
    path(f"{ITEM}comments/", talk_api.CommentList.as_view(), name="api-comments"),
    path(f"{ITEM}comments/<int:pk>/", talk_api.CommentDetail.as_view(), name="api-comment"),
    path(f"{ITEM}suggestions/", talk_api.SuggestionList.as_view(), name="api-suggestions"),
    path(f"{ITEM}suggestions/<int:pk>/", talk_api.SuggestionDetail.as_view(), name="api-suggestion"),
    path(f"{ITEM}struck/", own_api.StruckList.as_view(), name="api-struck"),
    path(f"{ITEM}struck/<int:pk>/take-back/", own_api.StruckTakeBack.as_view(), name="api-take-back"),
    path(f"{ITEM}drafts/", own_api.DraftList.as_view(), name="api-drafts"),
    path(f"{ITEM}drafts/<str:section>/", own_api.DraftDetail.as_view(), name="api-draft"),
    path("notices/", own_api.NoticeList.as_view(), name="api-notices"),
    path("notices/<int:pk>/done/", own_api.NoticeDone.as_view(), name="api-notice-done"),
    path("benchmarks/<slug:slug>/ideas/", own_api.IdeaList.as_view(), name="api-ideas"),
    path("benchmarks/<slug:slug>/ideas/<int:pk>/", own_api.IdeaDetail.as_view(), name="api-idea"),
    path(f"{ITEM}checks/", api.CheckList.as_view(), name="api-checks"),
]
