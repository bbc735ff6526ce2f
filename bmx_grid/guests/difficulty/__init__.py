"""Difficulty-aware BERTScore and its evaluations: difficult tokens and the best systems (Zhan et al. 2021)."""
