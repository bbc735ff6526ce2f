"""How large the models of the package's options are: what fetching them from the hub takes."""

# 10^9 bytes of model.safetensors by hub id: four per float32 parameter, which a test counts. Not a field of an option:
# who names another model there would keep the size of this one.
GIGABYTES = {
    "bert-base-multilingual-cased": 0.71,
    "facebook/bart-large-cnn": 1.63,
    "gpt2": 0.55,
    "joeddav/xlm-roberta-large-xnli": 2.24,
    "roberta-large": 1.42,
    "sentence-transformers/stsb-xlm-r-multilingual": 1.11,
}
