"""The document context of a judge: what enters the prompt, what is perturbed, and what is scored again."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest
from chat_server import ChatServer

import bmx_grid as bmx
from bmx_grid.attribution.explain import explain_items, item_key
from bmx_grid.core.errors import ConfigError
from bmx_grid.core.identity import digest
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.guests.datscore.combined import Combined
from bmx_grid.guests.datscore.kept_values import _named_fields
from bmx_grid.guests.judge.judge import Judge
from bmx_grid.guests.judge.prompts import BEFORE, Prompt
from bmx_grid.metrics.chrf import Chrf
from bmx_grid.words.perturbation import Item

# id, system, document, source and hypothesis; the systems take turns.
ROWS = [
    ("1", "a", "d", "s1", "a1"),
    ("1", "b", "d", "s1", "b1"),
    ("2", "a", "d", "s2", "a2"),
    ("2", "b", "d", "s2", "b2"),
    ("3", "a", "e", "s3", "a3"),
    ("4", "a", "d", "s4", "a4"),
    ("5", "a", None, "s5", "a5"),
    ("6", "a", None, "s6", "a6"),
]


def segments(rows=ROWS):
    made = []
    for name, system, document, source, hypothesis in rows:
        made.append(Segment(name, hypothesis, source, system=system, document=document))
    return SegmentSet("toy", "de-en", tuple(made), Judgements({"da": list(map(float, range(len(made))))}))


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (1, [(), (), ["1a"], ["1b"], (), ["2a"], (), ()]),
        (2, [(), (), ["1a"], ["1b"], (), ["2a", "1a"], (), ()]),
        (9, [(), (), ["1a"], ["1b"], (), ["2a", "1a"], (), ()]),
    ],
)
def test_context_is_of_the_same_document_and_system_the_nearest_first(most, expected):
    judge = Judge(prompt="gemba_da_noref", context=most)
    contexts = [item.context for item in judge.items(segments())]
    sentences = {f"{row[0]}{row[1]}": (row[3], row[4]) for row in ROWS}
    assert contexts == [tuple(sentences[name] for name in names) for names in expected]


def test_what_reads_no_context_has_the_items_and_keys_of_always():
    """Keys of stored scores, as release 0.4 made them."""
    assert item_key(Item(source="ein Haus", hypothesis="a house")) == "24d3d9c1060744dab67ccbda59289690"
    several = Item(reference="the house", hypothesis="a house", further_references=("one house",))
    assert item_key(several) == "77f47f8210158b9d1baa218197daf78d"
    item = Item(source="ein Haus", hypothesis="a house")
    assert digest([_named_fields(item)])[:24] == "df7f20ca0846aa9a9eee0017"
    assert all(item.context == () for item in Judge(prompt="gemba_da_noref").items(segments()))
    assert Judge(context=0).fingerprint() == Judge().fingerprint() != Judge(context=1).fingerprint()
    contexts = [(), (("s", "t"),), (("s", "u"),), ((None, "t"),), (("s", "t"), ("s", "t"))]
    assert len({item_key(item._replace(context=context)) for context in contexts}) == 5


WITH_CONTEXT = f"{BEFORE}\nSource: s1\nTranslation: a1\nSource: s2\nTranslation: a2"
ITEM = Item(source="s4", hypothesis="a4", context=(("s2", "a2"), ("s1", "a1")))


def test_sentences_are_before_the_message_in_the_order_of_reading():
    prompt = Prompt.load("gemba_da_noref")
    ((_, plain),) = prompt.messages(ITEM._replace(context=()), "de-en")
    ((_, text),) = prompt.messages(ITEM, "de-en")
    assert text == f"{WITH_CONTEXT}\n\n{plain}"
    without_source = ITEM._replace(context=((None, "a2"),))
    assert prompt.messages(without_source, "de-en")[0][1] == f"{BEFORE}\nTranslation: a2\n\n{plain}"


def test_a_prompt_may_name_their_place(tmp_path):
    (tmp_path / "mine.yaml").write_text('user: "{source} -> {hypothesis} [{context}]"\n')
    prompt = Prompt.load(str(tmp_path / "mine.yaml"))
    assert prompt.messages(ITEM, "none") == (("user", f"s4 -> a4 [{WITH_CONTEXT}]"),)
    assert prompt.messages(ITEM._replace(context=()), "none") == (("user", "s4 -> a4 []"),)


def test_explainers_perturb_the_texts_and_no_context():
    with ChatServer().running() as server:
        judge = Judge(base_url=server.url, model="m", prompt="gemba_da_noref", context=2, language_pair="de-en")
        item = ITEM._replace(source="eins zwei", hypothesis="one two three")
        (explanation,) = explain_items(judge, Erasure(), [item], 0)
    texts = [body["messages"][-1]["content"] for body in server.seen]
    assert len(texts) == len(set(texts)) == 1 + 2 + 3
    assert all(text.startswith(f"{WITH_CONTEXT}\n\n") for text in texts)
    assert {role: len(values) for role, values in explanation.attributions.items()} == {"source": 2, "hypothesis": 3}


def test_a_set_without_documents_has_the_judge_without_context():
    with ChatServer().running() as server:
        judge = Judge(base_url=server.url, model="m", prompt="gemba_da_noref", context=2)
        plain = [(name, system, None, *texts) for name, system, _, *texts in ROWS]
        with pytest.warns(UserWarning, match="toy de-en: context=2 has no effect, as no segment has a document"):
            fitted = judge.fit(segments(plain))
        assert fitted == dataclasses.replace(judge, context=0).fit(segments(plain))
        assert judge.fit(segments()).context == 2 and "|context:2" in judge.fit(segments()).signature


def test_lists_of_texts_have_no_context():
    with ChatServer().running() as server:
        judge = Judge(base_url=server.url, model="m", prompt="gemba_da_noref", context=2)
        scorer = bmx.load(judge, explainer=None, language_pair="de-en")
        with pytest.raises(ConfigError, match="Judge reads the context of a segment, which lists of texts do not have"):
            scorer.score(["a"], sources=["b"])


def test_each_metric_of_a_combination_has_the_context_that_it_reads():
    judges = [("j1", Judge(prompt="gemba_da_noref", context=1)), ("j2", Judge(prompt="gemba_da_noref", context=2))]
    combined = Combined(metrics=(*judges, ("chrf", Chrf())), weights="equal", scale="raw")
    assert combined.reads_further == {"context": 2}
    item = ITEM._replace(reference="r")
    for (_, metric), n_sentences in zip(combined.metrics, (1, 2, 0), strict=True):
        assert item.only(metric.reads, metric.reads_further).context == item.context[:n_sentences]


def sweep(folder, server, rows, context):
    """The scores of a sweep of a table of these rows."""
    names = ["id", "system", "doc", "source", "hypothesis"]
    table = pd.DataFrame(rows, columns=names).assign(score=range(len(rows)), reference="r")
    table.to_csv(folder / "mine.tsv", sep="\t", index=False)
    judge = {"model": "m", "prompt": "gemba_da_noref", "base_url": server.url, "context": context}
    run = bmx.run(
        dataset=["tabular"],
        metric=["judge"],
        explainer=[],
        evaluation=["levels"],
        executor="sequential",
        output_dir=folder / "out",
        cache_dir=str(folder / "cache"),
        tracking="none",
        analysis=False,
        settings={
            "dataset.tabular.path": str(folder / "mine.tsv"),
            "dataset.tabular.language_pairs": ["de-en"],
            **{f"metric.judge.{key}": value for key, value in judge.items()},
        },
        quiet=True,
    )
    return run.table("scores").sort_values(["id", "system"])["base"].tolist()


def test_a_changed_sentence_is_scored_again_with_those_that_it_is_context_of(tmp_path):
    rows = [row for row in ROWS if row[2] is not None]
    with ChatServer().running() as server:
        first = sweep(tmp_path, server, rows, 1)
        assert len(server.seen) == 6
        assert sweep(tmp_path, server, rows, 1) == first and len(server.seen) == 6
        # The first sentence of system a: its own score changes, and that of its next one in the document.
        changed = [(*rows[0][:4], "new"), *rows[1:]]
        second = sweep(tmp_path, server, changed, 1)
        asked = [body["messages"][-1]["content"] for body in server.seen[6:]]
        assert len(asked) == 2 and sum("Translation: new" in text for text in asked) == 1
        assert sum(a != b for a, b in zip(first, second, strict=True)) == 2
        # The first sentence of each document has the prompt of a judge without context.
        sweep(tmp_path, server, rows, 0)
        assert len(server.seen) == 8 + 3
