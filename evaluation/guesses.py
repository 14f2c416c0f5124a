"""What a run's calls may cost before one was made."""

from collections.abc import Sequence
from decimal import Decimal

from annotation.document import Document, read_document
from audit.releases import Release, release_documents

from .failure_modes import LABEL_TEMPLATES, PROMPT_VERSION, Mode, build_label_prompt
from .models import Judge, Run, System
from .money import CHARACTERS_A_TOKEN, guess, most_answer_tokens
from .prompts import build_judge_prompt


def longest_of(release: Release) -> Document:
    return read_document(max(release_documents(release), key=lambda document: len(str(document))))


def guess_labels(run: Run, labeller: Judge, modes: Sequence[Mode]) -> None:
    """Set what a claim reserves for labels at first, the most of all labellers, by the price table and the longest
    item."""
    if labeller.prompt_price is None:
        return
    document = longest_of(run.release)
    answer = "x" * (most_answer_tokens(run.system.extra_body) * CHARACTERS_A_TOKEN)
    nothing = [0] * len(document.checklist)
    prompt = build_label_prompt(LABEL_TEMPLATES[PROMPT_VERSION], modes, document, nothing, False, answer)
    tokens = most_answer_tokens(labeller.extra_body)
    its = guess(len(prompt), tokens, labeller.prompt_price, labeller.completion_price)
    run.label_guess = max(run.label_guess, its)


def guess_costs(run: Run, judges: Sequence[Judge], longest: Document | None = None) -> None:
    """Set what a claim reserves at first, by the price tables and the longest item (looked for where not given)."""
    rows: list[System | Judge] = [run.system, *judges]
    if run.budget is None or all(row.prompt_price is None for row in rows):
        return
    document = longest or longest_of(run.release)
    tokens = most_answer_tokens(run.system.extra_body)
    answer = "x" * (tokens * CHARACTERS_A_TOKEN)

    def of(row: System | Judge, prompt: str) -> Decimal:
        return guess(len(prompt), most_answer_tokens(row.extra_body), row.prompt_price, row.completion_price)

    run.answer_guess = of(run.system, document.question)
    run.verdict_guess = max(of(row, build_judge_prompt(row.template, document, answer)) for row in judges)
