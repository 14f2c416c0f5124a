"""Addresses of annotation."""

from django.urls import path, register_converter

from . import list_urls
from .document import SECTIONS
from .views import (
    comments,
    drafts,
    history,
    home,
    images,
    inbox,
    item,
    items,
    panels,
    planning,
    sections,
    seeds,
    settings,
    sources,
)


class SectionConverter:
    """The name of a section: other words at its place belong to other addresses."""

    regex = "|".join(SECTIONS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(SectionConverter, "section")

ITEM = "b/<slug>/items/<int:number>/"

app_name = "annotation"
urlpatterns = [
    *list_urls.urlpatterns,
    path("", home.home, name="home"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/done/", inbox.notice_done, name="notice-done"),
    path("my-settings/", inbox.preferences, name="preferences"),
    path("benchmarks/new/", settings.benchmark_create, name="benchmark-create"),
    path("b/<slug>/", home.benchmark_home, name="benchmark-home"),
    path("b/<slug>/items/", items.item_list, name="item-list"),
    path("b/<slug>/items/new/", items.item_create, name="item-create"),
    path("b/<slug>/items/import/", items.item_import, name="item-import"),
    path("b/<slug>/coverage/", planning.coverage, name="coverage"),
    path("b/<slug>/guideline/", planning.guideline, name="guideline"),
    path("b/<slug>/guideline/restore/", planning.guideline_restore, name="guideline-restore"),
    path("b/<slug>/golden/", planning.golden_list, name="golden-list"),
    path("b/<slug>/ideas/", seeds.seed_list, name="seed-list"),
    path("b/<slug>/ideas/<int:pk>/", seeds.seed_act, name="seed-act"),
    path("b/<slug>/settings/", settings.benchmark_settings, name="benchmark-settings"),
    path("b/<slug>/settings/members/", settings.member_save, name="member-save"),
    path(ITEM, item.item_page, name="item-page"),
    path(f"{ITEM}<section:section>/", sections.section, name="section-show"),
    path(f"{ITEM}<section:section>/", sections.section, name="section-save"),
    path(f"{ITEM}<section:section>/edit/", sections.section_edit, name="section-edit"),
    path(f"{ITEM}<section:section>/draft/", drafts.draft_keep, name="draft-keep"),
    path(f"{ITEM}<section:section>/draft/drop/", drafts.draft_drop, name="draft-drop"),
    path(f"{ITEM}presence/", drafts.presence, name="presence"),
    path(f"{ITEM}images/add/", images.image_add, name="image-add"),
    path(f"{ITEM}images/fetches/", images.image_fetches, name="image-fetches"),
    path(f"{ITEM}images/<slug:key>/fetch/", images.image_fetch, name="image-fetch"),
    path(f"{ITEM}images/order/", images.image_order, name="image-order"),
    path(f"{ITEM}images/<slug:key>/replace/", images.image_replace, name="image-replace"),
    path(f"{ITEM}images/<slug:key>/rotate/", images.image_rotate, name="image-rotate"),
    path(f"{ITEM}images/<slug:key>/region/", images.region_save, name="region-save"),
    path(f"{ITEM}images/<slug:key>/remove/", images.image_remove, name="image-remove"),
    path(f"{ITEM}sources/look/", sources.source_look, name="source-look"),
    path(f"{ITEM}sources/read/", sources.source_read, name="source-read"),
    path(f"{ITEM}sources/capture/", sources.capture_add, name="capture-add"),
    path(f"{ITEM}preview/", sections.markdown_preview, name="markdown-preview"),
    path(f"{ITEM}question/blurs/", sections.question_blurs, name="question-blurs"),
    path(f"{ITEM}graph/drawing/", sections.graph_drawing, name="graph-drawing"),
    path(f"{ITEM}checklist/drawing/", sections.checklist_drawing, name="checklist-drawing"),
    path(f"{ITEM}checklist/struck/<int:pk>/take-back/", sections.step_take_back, name="step-take-back"),
    path(f"{ITEM}paste/<name>/", sections.rows_paste, name="rows-paste"),
    path(f"{ITEM}checks/", panels.checks, name="checks-panel"),
    path(f"{ITEM}checks/quiet/", panels.quiet, name="checks-quiet"),
    path(f"{ITEM}checks/dismiss/", panels.dismiss, name="finding-dismiss"),
    path(f"{ITEM}checks/recall/", panels.recall, name="finding-recall"),
    path(f"{ITEM}comments/", comments.comments, name="comments-panel"),
    path(f"{ITEM}comments/preview/", comments.comment_preview, name="comment-preview"),
    path(f"{ITEM}comments/<int:pk>/edit/", comments.comment_edit, name="comment-edit"),
    path(f"{ITEM}comments/<int:pk>/delete/", comments.comment_delete, name="comment-delete"),
    path(f"{ITEM}comments/<int:pk>/resolve/", comments.resolve, name="comment-resolve"),
    path(f"{ITEM}comments/<int:pk>/block/", comments.comment_block, name="comment-block"),
    path(f"{ITEM}suggestions/", comments.suggestion_make, name="suggestion-make"),
    path(f"{ITEM}suggestions/<int:pk>/", comments.suggestion_decide, name="suggestion-decide"),
    path(f"{ITEM}history/", history.history, name="history-panel"),
    path(f"{ITEM}history/element/", history.element, name="element-history"),
    path(f"{ITEM}history/compare/", history.compare, name="revision-compare"),
    path(f"{ITEM}history/restore/", history.restore, name="revision-restore"),
    path(f"{ITEM}assignment/", planning.assignment_save, name="assignment-save"),
    path(f"{ITEM}author/", planning.hand_over, name="hand-over"),
    path(f"{ITEM}golden/", planning.golden_save, name="golden-save"),
    path(f"{ITEM}coeditors/", item.save_coeditors, name="coeditors-save"),
    path("b/<slug>/images/<sha256>/", images.image_file, name="image-file"),
    path("b/<slug>/images/<sha256>/thumbnail/", images.image_thumbnail, name="image-thumbnail"),
    path("b/<slug>/images/<sha256>/<int:x>/<int:y>/<int:width>/<int:height>/", images.image_cut, name="image-cut"),
]
