"""The baseline server: Django with nothing on, reading and writing equally large rows and rendering as many elements.

Served as `bench.bare:application` beside the real one, on the same database. `bench_web` makes its two tables.
"""

import itertools
import json

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import engines
from django.urls import path

from lhdr_site.settings import DATABASES

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES=DATABASES,
    MIDDLEWARE=[],
    ROOT_URLCONF=__name__,
    SECRET_KEY="bench",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
application = get_wsgi_application()
_ELEMENTS = (
    '<main>{% for text in texts %}<p class="line" id="line-{{ forloop.counter }}">{{ text }}</p>{% endfor %}</main>'
)
_elements = engines["django"].from_string(_ELEMENTS)


def ready(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ready")


def item(request: HttpRequest, number: int, elements: int = 0) -> HttpResponse:
    """A document as JSON, or as a page of so many elements."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT document FROM bench_item WHERE id = %s", [number])
        document = json.loads(cursor.fetchone()[0])
    return _page([str(value) for value in document.values()], elements) if elements else JsonResponse(document)


def item_list(request: HttpRequest, elements: int = 0) -> HttpResponse:
    """The first 50 items as JSON, or as a page of so many elements."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT number, uid, question, state, category, updated FROM annotation_item ORDER BY id LIMIT 50"
        )
        rows = cursor.fetchall()
    if elements:
        return _page([str(value) for row in rows for value in row], elements)
    return JsonResponse({"results": rows})


def _page(texts: list[str], elements: int) -> HttpResponse:
    return HttpResponse(_elements.render({"texts": itertools.islice(itertools.cycle(texts), elements)}))


def save(request: HttpRequest, number: int) -> HttpResponse:
    """One transaction: the row is written anew, and a copy of it as its next revision."""
    document = request.body.decode()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE bench_item SET document = %s WHERE id = %s", [document, number])
        newest = "SELECT COALESCE(MAX(number), 0) FROM bench_revision WHERE item = %s"
        cursor.execute(f"INSERT INTO bench_revision VALUES (%s, ({newest}) + 1, %s)", [number, number, document])
    return JsonResponse({"saved": True})


urlpatterns = [
    path("", ready),
    path("item/<int:number>/", item),
    path("item/<int:number>/<int:elements>/", item),
    path("items/", item_list),
    path("items/<int:elements>/", item_list),
    path("save/<int:number>/", save),
]
