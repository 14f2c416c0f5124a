"""Addresses of the item list and of what is done with many items."""

from django.urls import path

from .views import bulk, lists

urlpatterns = [
    path("b/<slug>/items/bulk/", bulk.bulk_change, name="bulk-change"),
    path("b/<slug>/items/bulk/<int:pk>/", bulk.bulk_result, name="bulk-result"),
    path("b/<slug>/items/csv/", lists.list_csv, name="list-csv"),
    path("b/<slug>/items/columns/", lists.columns_save, name="columns-save"),
    path("b/<slug>/items/views/", lists.view_save, name="view-save"),
    path("b/<slug>/items/views/<int:pk>/", lists.view_change, name="view-change"),
    path("b/<slug>/items/views/<int:pk>/count/", lists.view_count, name="view-count"),
    path("b/<slug>/items/<int:number>/copy/", lists.item_copy, name="item-copy"),
]
