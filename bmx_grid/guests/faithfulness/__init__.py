"""Are explanations faithful to the metric: deletion and insertion of words (DeYoung et al. 2020)."""
