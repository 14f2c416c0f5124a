"""The demo benchmark's people and its slug; `lhdr load_demo` makes them."""

from typing import Final

DEMO_SLUG: Final = "demo"
SANDBOX_SLUG: Final = "sandbox"
DEMO_PASSWORD: Final = "demo-workbench"
# user name, full name, what they may do
DEMO_PEOPLE: Final = (
    ("ada", "Ada Annotator", "annotator"),
    ("ezra", "Ezra Annotator", "annotator, not yet calibrated"),
    ("bela", "Bela Auditor", "auditor"),
    ("cora", "Cora Core", "core team"),
    ("dana", "Dana Admin", "admin"),
)


def demo_is_loaded() -> bool:
    from .models import Benchmark

    return Benchmark.objects.filter(slug=DEMO_SLUG, is_demo=True).exists()
