"""What people do to an endpoint from inside a benchmark: let it try again after its breaker opened."""

from django.contrib.auth.models import User
from django.db import transaction

from lhdr_site.endpoints.limits import close_breaker
from lhdr_site.endpoints.models import Endpoint

from .permissions import may_try_endpoint


@transaction.atomic
def try_endpoint_again(endpoint: Endpoint, *, actor: User) -> Endpoint:
    """Calls are made to it again; with as many permanent errors in a row as before, it breaks again."""
    may_try_endpoint(actor, endpoint).require()
    return close_breaker(endpoint.pk, actor)
