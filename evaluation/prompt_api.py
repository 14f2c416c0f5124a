"""Judge prompts over HTTP: list, read (also filled in for a real case), paste. None is ever changed."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for
from lhdr_site.shared.api import NOT_FOUND, REFUSED, person, read_body
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.numbers import read_whole

from .judging import PromptRow, completed_response, get_prompt, preview_prompt, prompts_of
from .judging_actions import MOST_CHARACTERS, paste_prompt
from .prompts import demands_quotes


class PromptOut(serializers.Serializer[Any]):
    version = serializers.CharField()
    built_in = serializers.BooleanField()
    demands_quotes = serializers.BooleanField(help_text="Credited steps are checked for a quote of the response.")
    judges = serializers.IntegerField(help_text="How many use it.")
    created_by = serializers.CharField(allow_null=True)
    created = serializers.DateTimeField(allow_null=True)
    text = serializers.CharField()


class PromptDetailOut(PromptOut):
    preview = serializers.CharField(allow_null=True, help_text="Filled in, where `run` and `item` were given.")


class PromptIn(serializers.Serializer[Any]):
    version = serializers.CharField(max_length=40)
    text = serializers.CharField(max_length=MOST_CHARACTERS, trim_whitespace=False)


def _prompt(row: PromptRow) -> dict[str, Any]:
    return {
        "version": row.version,
        "built_in": row.pasted is None,
        "demands_quotes": demands_quotes(row.text),
        "judges": row.judges,
        "created_by": row.pasted.created_by.get_username() if row.pasted else None,
        "created": row.pasted.created if row.pasted else None,
        "text": row.text,
    }


class PromptList(APIView):
    """The versions of the judge prompt."""

    @extend_schema(operation_id="list_prompts", responses={200: PromptOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        return Reply([_prompt(row) for row in prompts_of(get_benchmark_for(request.user, slug))])

    @extend_schema(operation_id="paste_prompt", request=PromptIn, responses={201: PromptOut, **NOT_FOUND, **REFUSED})
    def post(self, request: Request, slug: str) -> Reply:
        """A prompt of the team's own: with {question}, {reference_answer}, {checklist_lines} and {generated_answer},
        asking for CHECKLIST_RESULT and OVERALL_CORRECTNESS."""
        benchmark = get_benchmark_for(request.user, slug)
        prompt = paste_prompt(benchmark, **read_body(PromptIn, request), actor=person(request))
        return Reply(_prompt(get_prompt(benchmark, prompt.version)), status=201)


class PromptDetail(APIView):
    """One version of the judge prompt."""

    @extend_schema(
        operation_id="get_prompt",
        parameters=[
            OpenApiParameter("run", int, description="With `item`: fill the prompt in for that run's response."),
            OpenApiParameter("item", int, description="Number of the item in the benchmark."),
        ],
        responses={200: PromptDetailOut, 422: REFUSED[422], **NOT_FOUND},
    )
    def get(self, request: Request, slug: str, version: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        row = get_prompt(benchmark, version)
        given = {name: request.query_params.get(name, "") for name in ("run", "item")}
        if not any(given.values()):
            return Reply({**_prompt(row), "preview": None})
        numbers = {name: read_whole(text) for name, text in given.items()}
        if wrong := [name for name, number in numbers.items() if number is None]:
            raise Invalid.of([{"path": name, "message": "Give a whole number."} for name in wrong])
        response = completed_response(benchmark, **numbers)
        if response is None:
            raise Http404
        return Reply({**_prompt(row), "preview": preview_prompt(row.text, response)})
