"""Pages of systems and judges: who may see and make them, what is refused and what is said then."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse

from annotation.benchmark_actions import set_membership
from annotation.models import Benchmark
from annotation.states import Role
from evaluation import claims
from evaluation.models import Judge, Run, System
from evaluation.stops import Stop
from lhdr_site.endpoints.models import Endpoint
from tests.evaluation.setting import Setting, make_setting
from tests.factories import Team, make_team

MEMBERS = ("ann", "aud", "core", "admin")
LISTS = ("evaluation:system-list", "evaluation:judge-list", "evaluation:run-list", "evaluation:endpoint-list")
FORMS = ("evaluation:system-create", "evaluation:judge-create", "evaluation:run-launch")


def system_data(setting: Setting, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Northlight",
        "group": "tool_free_vlm",
        "family": "North",
        "endpoint": setting.endpoint.pk,
        "model": "northlight-2",
        "image_mode": "inline",
        "release_date": "2026-05-01",
        "extra_body": "",
        "max_tries": 4,
        "prompt_price": "3",
        "completion_price": "15.5",
        "image_max_side": "",
        "max_request_mb": 20,
        **changes,
    }


def judge_data(setting: Setting, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Halden",
        "family": "Halden",
        "endpoint": setting.endpoint.pk,
        "model": "halden-4",
        "prompt_version": "lhdr-1",
        "extra_body": "",
        "max_tries": 3,
        "max_response_chars": "",
        **changes,
    }


def url(name: str, setting: Setting | Team) -> str:
    return reverse(name, args=[setting.benchmark.slug])


# --- who ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(("who", "expected"), [*[(who, 200) for who in MEMBERS], ("stranger", 404)])
def test_lists_when_asked_by_role_answer_members_only(setting: Setting, name: str, who: str, expected: int) -> None:
    assert setting.team.client(who).get(url(name, setting)).status_code == expected


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 200), ("stranger", 404)]
)
def test_forms_when_asked_by_role_answer_admins_only(setting: Setting, name: str, who: str, expected: int) -> None:
    assert setting.team.client(who).get(url(name, setting)).status_code == expected


@pytest.mark.parametrize(("who", "expected"), [("ann", 403), ("core", 403), ("admin", 302), ("stranger", 404)])
def test_system_when_posted_by_role_is_made_by_admins_only(setting: Setting, who: str, expected: int) -> None:
    reply = setting.team.client(who).post(url("evaluation:system-create", setting), system_data(setting))
    assert reply.status_code == expected
    assert System.objects.filter(name="Northlight").exists() == (expected == 302)


@pytest.mark.parametrize(("who", "expected"), [("ann", 403), ("core", 403), ("admin", 302), ("stranger", 404)])
def test_judge_when_posted_by_role_is_made_by_admins_only(setting: Setting, who: str, expected: int) -> None:
    reply = setting.team.client(who).post(url("evaluation:judge-create", setting), judge_data(setting))
    assert reply.status_code == expected
    assert Judge.objects.filter(name="Halden").exists() == (expected == 302)


@pytest.mark.parametrize("name", [*LISTS, *FORMS])
def test_pages_without_log_in_lead_to_it(setting: Setting, client: Any, name: str) -> None:
    reply = client.get(url(name, setting))
    assert reply.status_code == 302 and reply.url.startswith("/login/")


# --- what is kept -------------------------------------------------------------------------------------------------


def test_system_when_made_keeps_every_field(setting: Setting) -> None:
    extra = {"tools": [{"type": "web_search"}], "temperature": 0}
    data = system_data(setting, extra_body=json.dumps(extra), represents_family="on", image_max_side="1024")
    setting.team.client("admin").post(url("evaluation:system-create", setting), data)
    system = System.objects.get(name="Northlight")
    assert (system.extra_body, system.represents_family, system.image_max_side) == (extra, True, 1024)
    assert (system.model, system.family, str(system.release_date)) == ("northlight-2", "North", "2026-05-01")
    assert (system.prompt_price, system.completion_price) == (Decimal(3), Decimal("15.5"))
    assert system.created_by == setting.team.admin


def test_system_when_copied_starts_from_the_other_under_a_free_name(setting: Setting) -> None:
    system = setting.new_system(name="One", extra_body={"temperature": 0})
    setting.new_system(name="One (2)")
    reply = setting.team.client("admin").get(url("evaluation:system-create", setting), {"copy": system.pk})
    text = reply.content.decode()
    assert 'value="One (3)"' in text
    assert "&quot;temperature&quot;: 0" in text


@pytest.mark.parametrize("copy", ["0", "x", "99999999999999999999999", "-1"])
def test_system_when_copied_from_nothing_is_not_found(setting: Setting, copy: str) -> None:
    reply = setting.team.client("admin").get(url("evaluation:system-create", setting), {"copy": copy})
    assert reply.status_code == 404


def test_system_when_copied_from_another_benchmark_is_not_found(setting: Setting) -> None:
    other = make_team("other")
    other.benchmark.endpoints.add(setting.endpoint)
    reply = other.client("admin").get(url("evaluation:system-create", other), {"copy": setting.system.pk})
    assert reply.status_code == 404


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("{", "This is no JSON"),
        ("[1]", "Write an object in braces"),
        ('{"a": NaN}', "NaN, infinity"),
        ('{"model": "x"}', "sets model itself"),
        ('{"messages": []}', "sets messages itself"),
        ('{"a": "\\u0000"}', "cannot be stored"),
        ('{"a": "\\ud800"}', "cannot be stored"),
        ('{"a": ' * 20_00 + "1" + "}" * 20_00, "deep nesting"),
    ],
)
def test_system_when_extra_fields_are_wrong_is_refused_with_the_text_kept(
    setting: Setting, extra: str, said: str
) -> None:
    reply = setting.team.client("admin").post(
        url("evaluation:system-create", setting), system_data(setting, extra_body=extra)
    )
    assert reply.status_code == 422
    assert said in reply.content.decode()
    assert reply.context["form"]["extra_body"].value() == extra
    assert not System.objects.filter(name="Northlight").exists()


@pytest.mark.parametrize("field", ["name", "family", "model", "endpoint", "group", "max_tries"])
def test_system_when_a_field_is_empty_names_it(setting: Setting, field: str) -> None:
    reply = setting.team.client("admin").post(
        url("evaluation:system-create", setting), system_data(setting, **{field: ""})
    )
    assert reply.status_code == 422
    assert list(reply.context["form"].errors) == [field]


def test_system_when_the_name_is_taken_says_so(setting: Setting) -> None:
    data = system_data(setting, name=setting.system.name)
    reply = setting.team.client("admin").post(url("evaluation:system-create", setting), data)
    assert reply.status_code == 422
    assert reply.context["form"].errors == {"name": ["This is taken already; choose another."]}
    assert System.objects.filter(name=setting.system.name).count() == 1


@pytest.mark.parametrize(
    ("given", "lacks"), [("prompt_price", "completion_price"), ("completion_price", "prompt_price")]
)
def test_system_with_one_price_alone_is_refused(setting: Setting, given: str, lacks: str) -> None:
    """With one alone no cost is known, and the one that was given would say nothing."""
    data = system_data(setting, **{given: "3", lacks: ""})
    reply = setting.team.client("admin").post(url("evaluation:system-create", setting), data)
    assert reply.status_code == 422 and list(reply.context["form"].errors) == [lacks]


def test_system_at_an_endpoint_that_the_benchmark_may_not_use_is_refused(setting: Setting) -> None:
    strange = Endpoint.objects.create(name="strange", base_url="https://example.org/v1")
    form = setting.team.client("admin").get(url("evaluation:system-create", setting)).context["form"]
    assert list(form.fields["endpoint"].queryset) == [setting.endpoint]
    reply = setting.team.client("admin").post(
        url("evaluation:system-create", setting), system_data(setting, endpoint=strange.pk)
    )
    assert reply.status_code == 422
    assert list(reply.context["form"].errors) == ["endpoint"]


def test_form_when_the_benchmark_has_no_endpoint_says_what_to_do(new_team: Team) -> None:
    text = new_team.client("admin").get(url("evaluation:system-create", new_team)).content.decode()
    assert "may use no endpoint yet" in text


@pytest.mark.parametrize("field", ["name", "model", "endpoint", "prompt_version"])
def test_judge_when_a_field_is_empty_names_it(setting: Setting, field: str) -> None:
    reply = setting.team.client("admin").post(
        url("evaluation:judge-create", setting), judge_data(setting, **{field: ""})
    )
    assert reply.status_code == 422
    assert list(reply.context["form"].errors) == [field]


def test_judge_with_an_unknown_prompt_is_refused(setting: Setting) -> None:
    reply = setting.team.client("admin").post(
        url("evaluation:judge-create", setting), judge_data(setting, prompt_version="lhdr-99")
    )
    assert reply.status_code == 422
    assert list(reply.context["form"].errors) == ["prompt_version"]


# --- demo, empty, budgets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["evaluation:system-list", "evaluation:judge-list"])
def test_lists_with_a_demo_endpoint_say_so(setting: Setting, name: str) -> None:
    assert "demo: recorded answers" in setting.team.client("ann").get(url(name, setting)).content.decode()
    setting.endpoint.is_demo = False
    setting.endpoint.save()
    assert "demo: recorded answers" not in setting.team.client("ann").get(url(name, setting)).content.decode()


@pytest.mark.parametrize("name", LISTS)
def test_lists_when_empty_teach(new_team: Team, name: str) -> None:
    text = new_team.client("admin").get(url(name, new_team)).content.decode()
    assert "wb-empty" in text


@pytest.mark.parametrize("name", LISTS)
def test_lists_ask_the_database_as_often_for_many_rows(
    setting: Setting, name: str, django_assert_max_num_queries: Any
) -> None:
    for _ in range(6):
        setting.launch(system=setting.new_system(), judges=[setting.new_judge()])
    client = setting.team.client("admin")
    with django_assert_max_num_queries(11):
        client.get(url(name, setting))


def test_benchmark_that_is_not_there_is_not_found(new_team: Team) -> None:
    Benchmark.objects.filter(slug="nowhere").delete()
    assert new_team.client("admin").get("/b/nowhere/systems/").status_code == 404


# --- endpoints ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]
)
def test_endpoint_that_is_held_back_is_let_try_again_by_admins_only(setting: Setting, who: str, expected: int) -> None:
    Endpoint.objects.update(broken="It said no.", failures=5)
    address = reverse("evaluation:endpoint-again", args=[setting.benchmark.slug, setting.endpoint.pk])
    client = setting.team.client(who)
    assert client.post(address).status_code == expected
    assert (Endpoint.objects.get(pk=setting.endpoint.pk).broken == "") == (expected == 302)
    if who != "stranger":
        page = client.get(url("evaluation:endpoint-list", setting)).content.decode()
        assert ("It said no." in page) == (expected != 302) and address not in page
    if expected == 302:
        assert client.post(address).status_code == 409


def test_endpoint_is_let_try_again_and_the_runs_that_it_stopped_go_on(setting: Setting) -> None:
    """Those of all benchmarks whose runs the person may manage; what keeps one from going on does not keep the others,
    and what stopped for another reason, or goes on, stays as it is."""
    admin, elsewhere = setting.team.admin, make_setting(setting.server, 1, slug="elsewhere")
    foreign = make_setting(setting.server, 1, slug="foreign")
    set_membership(elsewhere.benchmark, admin, Role.ADMIN, actor=elsewhere.team.root)
    set_membership(foreign.benchmark, admin, Role.CORE, actor=foreign.team.root)
    other = Endpoint.objects.create(name="other", base_url=setting.server.address, broken="No either.")
    setting.benchmark.endpoints.add(other)
    stopped, apart, not_ours = setting.launch(), elsewhere.launch(), foreign.launch()
    kept = setting.launch(judges=[setting.new_judge(endpoint=other)])
    held = [stopped, apart, not_ours, kept]
    with transaction.atomic():
        for run in held:
            claims.stop_for_endpoint(run.pk, setting.endpoint.pk, setting.endpoint.name, "It said no.")
        for run in (over := setting.launch(), at_other := setting.launch()):
            claims.stop_run(run.pk, Stop.BUDGET) if run == over else claims.stop_for_endpoint(run.pk, other.pk, "", "")
    Endpoint.objects.filter(pk=setting.endpoint.pk).update(broken="It said no.")
    client = setting.team.client("admin")
    page = client.get(url("evaluation:endpoint-list", setting)).content.decode()
    assert "Try again and resume its 3 runs" in page and "Try again and resume its 1 run<" in page
    address = reverse("evaluation:endpoint-again", args=[setting.benchmark.slug, setting.endpoint.pk])
    told = client.post(address, {"resume": "1"}, follow=True).content.decode()
    assert "2 runs go on." in told
    assert f"Run {kept.number} of Benchmark bench does not go on: No call is made to other" in told
    runs = [Run.objects.get(pk=run.pk) for run in (*held, over, at_other)]
    assert [run.state for run in runs] == ["queued", "queued", *["stopped"] * 4]
    assert runs[0].resumed_by == admin and runs[0].events.first().kind == "run.resumed"


def test_endpoint_is_let_try_again_without_resuming(setting: Setting) -> None:
    Endpoint.objects.update(broken="It said no.")
    run = setting.launch()
    with transaction.atomic():
        claims.stop_for_endpoint(run.pk, setting.endpoint.pk, setting.endpoint.name, "It said no.")
    address = reverse("evaluation:endpoint-again", args=[setting.benchmark.slug, setting.endpoint.pk])
    told = setting.team.client("admin").post(address, follow=True).content.decode()
    assert "wait until they are resumed" in told
    run.refresh_from_db()
    assert (run.state, Endpoint.objects.get(pk=setting.endpoint.pk).broken) == ("stopped", "")


def test_endpoint_list_says_what_holds_and_what_to_do(setting: Setting) -> None:
    Endpoint.objects.update(broken="It said no.", calls_per_minute=30)
    page = setting.team.client("admin").get(url("evaluation:endpoint-list", setting)).content.decode()
    assert (
        "It said no." in page
        and f"endpoints/{setting.endpoint.pk}/again/" in page
        and "0 of 20" in page
        and ">30<" in page
    )


def test_endpoint_of_another_benchmark_is_not_found(setting: Setting) -> None:
    other = Endpoint.objects.create(name="elsewhere", base_url="https://elsewhere.example/v1", broken="No.")
    address = reverse("evaluation:endpoint-again", args=[setting.benchmark.slug, other.pk])
    assert setting.team.client("admin").post(address).status_code == 404


def test_superuser_lets_endpoints_try_again_in_the_administration(setting: Setting) -> None:
    Endpoint.objects.update(broken="It said no.")
    client, address = setting.team.client("root"), reverse("admin:endpoints_endpoint_changelist")
    assert "It said no." in client.get(address).content.decode()
    reply = client.post(address, {"action": "try_again", "_selected_action": [setting.endpoint.pk]}, follow=True)
    assert f"Calls are made again to {setting.endpoint.name}" in reply.content.decode()
    assert Endpoint.objects.get(pk=setting.endpoint.pk).broken == ""
    assert setting.endpoint.events.get().actor == setting.team.root


def test_form_of_a_system_has_words_for_what_is_not_chosen_yet(setting: Setting) -> None:
    page = setting.team.client("admin").get(url("evaluation:system-create", setting)).content.decode()
    assert page.count("choose …") == 2 and "-----" not in page
