"""Translation models as metrics, and metrics made of metrics: BARTScore (2021), DATScore (2023)."""
