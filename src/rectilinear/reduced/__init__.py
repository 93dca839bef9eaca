"""Reduced flows: small systems that stand for a network, which hypotheses look into and theorems compute with.

Nothing here knows `flow`: small neurons are followed twice in this package, by independent code, and their agreement is evidence.
"""
