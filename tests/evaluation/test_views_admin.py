"""The administration shows evaluation's rows and changes none."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evaluation.models import Attempt, Response, Verdict
from tests.evaluation.setting import Setting, work_through

MODELS = ("system", "judge", "run", "response", "verdict", "attempt", "report", "runevent")


@pytest.fixture
def client(setting: Setting) -> Client:
    work_through(setting.launch())
    return setting.team.client("root")


@pytest.mark.parametrize("model", MODELS)
def test_list_is_shown_and_nothing_is_added(client: Client, model: str) -> None:
    assert client.get(reverse(f"admin:evaluation_{model}_changelist")).status_code == 200
    assert client.get(reverse(f"admin:evaluation_{model}_add")).status_code == 403


@pytest.mark.parametrize("model", [Response, Verdict, Attempt])
def test_row_is_shown_and_neither_changed_nor_deleted(client: Client, model: Any) -> None:
    row = model.objects.order_by("pk")[0]
    name = f"admin:evaluation_{model._meta.model_name}"
    before = model.objects.values().get(pk=row.pk)
    assert client.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200
    assert client.post(reverse(f"{name}_change", args=[row.pk]), {"status": "failed"}).status_code == 403
    assert client.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert model.objects.values().get(pk=row.pk) == before


@pytest.mark.parametrize(("model", "column"), [("response", "text"), ("verdict", "output"), ("attempt", "request")])
def test_list_never_loads_long_texts(
    client: Client, model: str, column: str, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(12) as queries:
        client.get(reverse(f"admin:evaluation_{model}_changelist"))
    assert not [q for q in queries.captured_queries if f'"evaluation_{model}"."{column}"' in q["sql"]]


def test_members_without_staff_status_do_not_get_in(setting: Setting) -> None:
    assert setting.team.client("admin").get(reverse("admin:evaluation_run_changelist")).status_code == 302
