"""Difficulty-aware BERTScore and its evaluations: what is difficult, and who is best (Zhan et al. 2021)."""
