"""Addresses of annotation."""

from django.urls import path, register_converter

from .document import SECTIONS
from .views import home, images, item, items, panels, sections, settings


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
    path("", home.home, name="home"),
    path("benchmarks/new/", settings.benchmark_create, name="benchmark-create"),
    path("b/<slug>/", home.benchmark_home, name="benchmark-home"),
    path("b/<slug>/items/", items.item_list, name="item-list"),
    path("b/<slug>/items/new/", items.item_create, name="item-create"),
    path("b/<slug>/items/import/", items.item_import, name="item-import"),
    path("b/<slug>/settings/", settings.benchmark_settings, name="benchmark-settings"),
    path("b/<slug>/settings/members/", settings.member_save, name="member-save"),
    path(ITEM, item.item_page, name="item-page"),
    path(f"{ITEM}<section:section>/", sections.section, name="section-show"),
    path(f"{ITEM}<section:section>/", sections.section, name="section-save"),
    path(f"{ITEM}<section:section>/edit/", sections.section_edit, name="section-edit"),
    path(f"{ITEM}images/add/", images.image_add, name="image-add"),
    path(f"{ITEM}preview/", sections.markdown_preview, name="markdown-preview"),
    path(f"{ITEM}checklist/drawing/", sections.checklist_drawing, name="checklist-drawing"),
    path(f"{ITEM}checks/", panels.checks, name="checks-panel"),
    path(f"{ITEM}checks/dismiss/", panels.dismiss, name="finding-dismiss"),
    path(f"{ITEM}checks/recall/", panels.recall, name="finding-recall"),
    path(f"{ITEM}comments/", panels.comments, name="comments-panel"),
    path(f"{ITEM}comments/<int:pk>/resolve/", panels.resolve, name="comment-resolve"),
    path(f"{ITEM}history/", panels.history, name="history-panel"),
    path(f"{ITEM}history/compare/", panels.compare, name="revision-compare"),
    path(f"{ITEM}history/restore/", panels.restore, name="revision-restore"),
    path(f"{ITEM}coeditors/", item.save_coeditors, name="coeditors-save"),
    path("b/<slug>/images/<sha256>/", images.image_file, name="image-file"),
    path("b/<slug>/images/<sha256>/thumbnail/", images.image_thumbnail, name="image-thumbnail"),
]
