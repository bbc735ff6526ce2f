"""Contrastive test sets such as ACES: is the good translation scored above the wrong one (Amrhein et al. 2022)."""
