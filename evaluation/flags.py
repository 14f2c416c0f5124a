"""Flags of verdicts and of responses in words."""

from typing import Final

from django.utils.translation import gettext_lazy

#: A short name, for lists.
FLAG_NAMES: Final = {
    "several": gettext_lazy("Several verdicts"),
    "inconsistent": gettext_lazy("Score disagrees"),
    "response_cut": gettext_lazy("Response shortened"),
    "quote_not_found": gettext_lazy("Quote not found"),
    "distinctive_absent": gettext_lazy("Names absent"),
    "canary": gettext_lazy("Canary"),
    "dataset_host": gettext_lazy("Data set cited"),
    "benchmark_named": gettext_lazy("Benchmark named"),
    "key_text": gettext_lazy("Hidden text"),
}
#: What a flag means, in a sentence.
FLAG_WORDS: Final = {
    "several": gettext_lazy("Several verdicts were printed; the last one counts."),
    "inconsistent": gettext_lazy("The printed score disagrees with the list of marks; the list counts."),
    "response_cut": gettext_lazy("The response was too long for this judge: it was shown the end only."),
    "quote_not_found": gettext_lazy("Credited, but the judge gave no quote that stands in the response."),
    "distinctive_absent": gettext_lazy("Credited, though no name or number of the step occurs in the response."),
    "canary": gettext_lazy("The response holds the benchmark's canary: its system has seen the data set."),
    "dataset_host": gettext_lazy("The response cites a page on which the data set is published."),
    "benchmark_named": gettext_lazy("The response names the benchmark."),
    "key_text": gettext_lazy("The response holds a long stretch of the item's hidden text, word for word."),
}
